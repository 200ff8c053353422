import type { Workspace } from "@/api/types";
import { useT } from "@/lib/i18n";

/** Counts is how many paths were added, changed, deleted and held back. */
export function Counts({ workspace }: { workspace: Workspace }) {
  const t = useT();
  const parts: [number, string, string, string][] = [
    [workspace.added, "+", "text-ok", t("workspaces.count.added", { n: workspace.added })],
    [workspace.changed, "~", "text-info", t("workspaces.count.changed", { n: workspace.changed })],
    [workspace.deleted, "−", "text-no", t("workspaces.count.deleted", { n: workspace.deleted })],
  ];
  return (
    <span className="tabular flex gap-2.5 text-sm">
      {parts.map(([n, sign, colour, words]) =>
        n > 0 ? (
          <span key={sign} className={colour} title={words}>
            <span aria-hidden>
              {sign}
              {n}
            </span>
            <span className="sr-only">{words}</span>
          </span>
        ) : null,
      )}
      {workspace.held > 0 && <span className="text-wait">{t("workspaces.count.held", { n: workspace.held })}</span>}
    </span>
  );
}
