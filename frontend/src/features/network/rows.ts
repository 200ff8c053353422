import type { Approval, Network, NetworkGrant, NetworkTried } from "@/api/types";

/** Row is one host in the picture of a server's reach, by how it stands there. */
export type Row =
  | { state: "allowed"; key: string; host: string; kind: "rule" | "lan" | "machine" | "public"; rule?: string; open: number }
  | { state: "granted"; key: string; host: string; grant: NetworkGrant; open: number }
  | { state: "waits"; key: string; host: string; approval: Approval }
  | { state: "blocked" | "kept"; key: string; host: string; tried: NetworkTried; rule?: string };

export interface Reach {
  reaches: Row[];
  waits: Row[];
  blocked: Row[];
  kept: Row[];
}

const plainRule = /^[^\s[\]{}:]+:\d+$|^\[[0-9a-f:.]+\]:\d+$/i;

/** ruleOf is the rule that would allow what was tried, where one click may make it: private hosts and
 * ports of this machine are granted in servers.yaml only. */
export function ruleOf(tried: NetworkTried): string | undefined {
  return tried.propose && plainRule.test(tried.propose) ? tried.propose : undefined;
}

/** triedKey names a refusal among those of a server, as the daemon counts them. */
export function triedKey(t: NetworkTried): string {
  return `${t.kind} ${t.host} ${t.port ?? 0}`;
}

/** reachOf puts everything a server reaches, asks for, and was refused in the order it is drawn. Refusals that
 * the person wants kept are apart; what waits is not listed as refused too. */
export function reachOf(network: Network, approvals: Approval[], kept: ReadonlySet<string>): Reach {
  const open = (rule: string) => network.live.filter((l) => l.rule === rule).length;
  const at = (host: string) => network.live.filter((l) => `${l.host}:${l.port}` === host).length;
  const waits = approvals
    .filter((a) => a.kind === "network" && a.call.server === network.server && a.network)
    .flatMap((approval) =>
      approval.network!.hosts.map((host): Row => ({ state: "waits", key: `waits ${approval.id} ${host}`, host, approval })),
    );
  const asked = new Set(waits.map((w) => w.host));
  const refused = network.tried
    .filter((t) => !asked.has(`${t.host}:${t.port ?? 443}`))
    .map((tried): Row & { state: "blocked" | "kept" } => ({
      state: kept.has(triedKey(tried)) ? "kept" : "blocked",
      key: `tried ${triedKey(tried)}`,
      host: tried.port ? written(tried.host, tried.port) : tried.host,
      tried,
      rule: ruleOf(tried),
    }));
  const rule = (kind: "rule" | "lan") => (text: string) =>
    ({ state: "allowed", key: `${kind} ${text}`, host: text, kind, rule: text, open: open(text) }) as const;
  return {
    reaches: [
      ...(network.public_web
        ? [
            {
              state: "allowed",
              key: "public",
              host: "public-web",
              kind: "public",
              rule: "public-web",
              open: open("public-web"),
            } as const,
          ]
        : []),
      ...network.allow.map(rule("rule")),
      ...network.lan.map(rule("lan")),
      ...network.host_ports.map(
        (p) => ({ state: "allowed", key: `port ${p}`, host: `localhost:${p}`, kind: "machine", open: 0 }) as const,
      ),
      ...network.granted.map(
        (grant) => ({ state: "granted", key: `grant ${grant.grant}`, host: grant.host, grant, open: at(grant.host) }) as const,
      ),
    ],
    waits,
    blocked: refused.filter((r) => r.state === "blocked"),
    kept: refused.filter((r) => r.state === "kept"),
  };
}

/** written is a host with its port, as a rule has them. */
export function written(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** idle says that there is nothing to draw: the server reaches nothing, and has tried nothing. */
export function idle(reach: Reach): boolean {
  return reach.reaches.length + reach.waits.length + reach.blocked.length + reach.kept.length === 0;
}
