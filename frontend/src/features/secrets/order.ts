import type { Secret } from "@/api/types";

/** inOrder puts first what keeps a server from starting: the missing, then the expired. */
export function inOrder(secrets: Secret[]): Secret[] {
  const rank = (s: Secret) => (s.missing ? 0 : s.expired ? 1 : 2);
  return secrets.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** serversOf are the servers that may use any of them, by name. */
export function serversOf(secrets: Secret[]): string[] {
  return [...new Set(secrets.flatMap((s) => s.grants.map((g) => g.server)))].sort((a, b) => a.localeCompare(b));
}
