import type { Observed } from "@/api/types";
import type { Key } from "@/lib/i18n";
import type { IconName } from "@/ui/icon";

/** kinds are what a server can be seen to do, in the order they are offered to look at alone. */
export const kinds = ["tool", "host", "command", "path", "secret", "change"] as const;

export type Kind = (typeof kinds)[number];

export const kindIcons: Record<Kind, IconName> = {
  tool: "tool",
  host: "network",
  command: "terminal",
  path: "folder",
  secret: "secrets",
  change: "file",
};

/** kindOf is the kind of what was seen; what a newer daemon names otherwise counts as a path. */
export function kindOf(o: Observed): Kind {
  return (kinds as readonly string[]).includes(o.kind) ? (o.kind as Kind) : "path";
}

/** wordOf is what was done, in a word. */
export function wordOf(o: Observed): Key {
  const kind = kindOf(o);
  return kind === "path" ? (o.write ? "observe.kind.path.write" : "observe.kind.path.read") : `observe.kind.${kind}`;
}

/** keyOf names what was seen among the others. */
export function keyOf(o: Observed): string {
  return `${o.kind} ${o.write ? "w" : "r"} ${o.what}`;
}
