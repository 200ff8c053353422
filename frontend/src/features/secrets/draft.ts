import type { SecretGrant, SecretPlace } from "@/api/types";

/** Draft is a grant as it is being written. */
export interface Draft {
  server: string;
  /** sent is for a server at a URL: Garita sends the value there itself. */
  mode: "placeholder" | "env" | "file" | "sent";
  /** Where the server finds a placeholder: a variable or a file. */
  at: "env" | "file" | "arg";
  env: string;
  file: string;
  /** The flag behind which it is given. */
  arg: string;
  /** What stands before the value in a header Authorization that Garita sends. */
  scheme: string;
  places: SecretPlace[];
  hosts: string;
  tools: string;
  until: string;
  ask: boolean;
}

/** draftOf is a draft to begin with: of a grant that is changed, or a new one. */
export function draftOf(secret: string, grant: SecretGrant | undefined, server: string): Draft {
  return {
    server: grant?.server ?? server,
    mode: (grant?.mode as Draft["mode"]) ?? "placeholder",
    at: grant?.file ? "file" : grant?.arg ? "arg" : "env",
    env: grant?.env ?? secret.toUpperCase().replace(/[^A-Z0-9]+/g, "_"),
    file: grant?.file ?? `/run/secrets/${secret}`,
    arg: grant?.arg ?? "",
    scheme: grant?.scheme ?? "",
    places: grant?.places.length ? grant.places : [{ in: "header", name: "Authorization" }],
    hosts: (grant?.hosts ?? []).join("\n"),
    tools: (grant?.tools ?? []).join(" "),
    until: grant?.until ? localTime(grant.until) : "",
    ask: grant?.ask ?? false,
  };
}

/** localTime is a time as a datetime-local field has it, to the minute. */
export function localTime(at: string): string {
  const d = new Date(at);
  return new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** holds says that the server is given the value itself, and so cannot be held to any bound. */
export function holds(d: Draft): boolean {
  return d.mode === "env" || d.mode === "file";
}

const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** grantOf is the grant that a draft stands for; the daemon judges it. */
export function grantOf(d: Draft): SecretGrant {
  const bounds = holds(d)
    ? { places: [], hosts: [], tools: [], ask: false }
    : { places: d.places.filter((p) => p.name.trim() !== ""), hosts: list(d.hosts), tools: list(d.tools), ask: d.ask };
  return {
    server: d.server,
    mode: d.mode,
    ...whereOf(d),
    ...bounds,
    ...(d.until && { until: new Date(d.until).toISOString() }),
  };
}

/** whereOf is where the server finds it; nowhere, where Garita sends it. */
function whereOf(d: Draft): Pick<SecretGrant, "env" | "file" | "arg" | "scheme"> {
  if (d.mode === "sent") return d.scheme === "" ? {} : { scheme: d.scheme };
  const at = d.mode === "placeholder" ? d.at : d.mode;
  return at === "file" ? { file: d.file.trim() } : at === "arg" ? { arg: d.arg.trim() } : { env: d.env.trim() };
}

/** complete says that nothing is left out that a grant needs. */
export function complete(d: Draft): boolean {
  const g = grantOf(d);
  if (d.mode === "sent") return g.server !== "" && g.places.length > 0;
  return g.server !== "" && (g.env ?? g.file ?? g.arg ?? "") !== "" && (holds(d) || (g.hosts.length > 0 && g.places.length > 0));
}
