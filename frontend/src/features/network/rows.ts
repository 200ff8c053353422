import type { Approval, Network, NetworkGrant, NetworkSSH, NetworkTried } from "@/api/types";

/** Row is one host in the picture of a server's reach, by how it stands there. */
export type Row =
  | {
      state: "allowed";
      key: string;
      host: string;
      kind: "rule" | "lan" | "machine" | "public";
      rule?: string;
      open: number;
      ssh?: NetworkSSH | undefined;
    }
  | { state: "granted"; key: string; host: string; grant: NetworkGrant; open: number }
  | { state: "waits"; key: string; host: string; approval: Approval }
  | { state: "blocked"; key: string; host: string; tried: NetworkTried; rule?: string | undefined; deny?: string | undefined }
  | { state: "kept"; key: string; host: string; tried?: NetworkTried | undefined; rule?: string | undefined };

export interface Reach {
  reaches: Row[];
  waits: Row[];
  blocked: Row[];
  kept: Row[];
}

const plainRule = /^[^\s[\]{}:]+:\d+$|^\[[0-9a-f:.]+\]:\d+$/i;
const plainDenial = /^(\*\.)?[a-z0-9_.-]+(:\d+)?$|^\[[0-9a-f:.]+\](:\d+)?$/i;

/** ruleOf is the rule that would allow what was tried, where one click may make it: private hosts and
 * ports of this machine are granted in servers.yaml only, and a host whose key has changed nowhere here. */
export function ruleOf(tried: NetworkTried): string | undefined {
  return tried.kind !== "changed" && tried.propose && plainRule.test(tried.propose) ? tried.propose : undefined;
}

/** triedKey names a refusal among those of a server, as the daemon counts them. */
export function triedKey(t: NetworkTried): string {
  return `${t.kind} ${t.host} ${t.port ?? 0}`;
}

/** reachOf puts everything a server reaches, asks for, and was refused in the order it is drawn. What the person
 * keeps blocked is apart; what waits is not listed as refused too. */
export function reachOf(network: Network, approvals: Approval[]): Reach {
  const waits = waitingOf(network, approvals);
  const asked = new Set(waits.map((w) => w.host));
  const refused = network.tried.filter((t) => !asked.has(`${t.host}:${t.port ?? 443}`));
  return {
    reaches: reachesOf(network),
    waits,
    blocked: refused.filter((t) => t.kind !== "denied").map(blockedRow),
    kept: keptOf(network, refused),
  };
}

function waitingOf(network: Network, approvals: Approval[]): Row[] {
  return approvals
    .filter((a) => a.kind === "network" && a.call.server === network.server && a.network)
    .flatMap((approval) =>
      approval.network!.hosts.map((host): Row => ({ state: "waits", key: `waits ${approval.id} ${host}`, host, approval })),
    );
}

function reachesOf(network: Network): Row[] {
  const open = (rule: string) => network.live.filter((l) => l.rule === rule).length;
  const at = (host: string) => network.live.filter((l) => written(l.host, l.port) === host).length;
  const rule = (kind: "rule" | "lan" | "public") => (text: string) =>
    ({
      state: "allowed",
      key: `${kind} ${text}`,
      host: text,
      kind,
      rule: text,
      open: open(text),
      ssh: network.ssh.find((s) => s.host === text),
    }) as const;
  return [
    ...(network.public_web ? ["public-web"].map(rule("public")) : []),
    ...network.allow.map(rule("rule")),
    ...network.lan.map(rule("lan")),
    ...network.host_ports.map(
      (p) => ({ state: "allowed", key: `port ${p}`, host: `localhost:${p}`, kind: "machine", open: 0 }) as const,
    ),
    ...network.granted.map(
      (grant) => ({ state: "granted", key: `grant ${grant.grant}`, host: grant.host, grant, open: at(grant.host) }) as const,
    ),
  ];
}

function blockedRow(tried: NetworkTried): Row {
  const host = tried.port ? written(tried.host, tried.port) : tried.host;
  const deny = plainDenial.test(host) ? host : undefined;
  return { state: "blocked", key: `tried ${triedKey(tried)}`, host, tried, rule: ruleOf(tried), deny };
}

/** keptOf is what stands under network.deny, each with what was tried of it. What was tried and is denied by no
 * rule any more was denied when it was tried. */
function keptOf(network: Network, refused: NetworkTried[]): Row[] {
  const denied = refused.filter((t) => t.kind === "denied");
  return network.deny.map((rule): Row => {
    const tried = denied.filter((t) => covers(rule, t));
    return {
      state: "kept",
      key: `deny ${rule}`,
      host: rule,
      tried: tried[0] && { ...tried[0], count: tried.reduce((n, t) => n + t.count, 0) },
      rule,
    };
  });
}

/** covers says whether what was tried is of a rule under network.deny. */
function covers(rule: string, t: NetworkTried): boolean {
  const [, name = rule, port] = /^(.*?)(?::(\d+))?$/.exec(rule) ?? [];
  if (port && Number(port) !== t.port) return false;
  return name.startsWith("*.") ? t.host.endsWith(name.slice(1)) : name === t.host || name === `[${t.host}]`;
}

/** keysOf are the keys by which a host that was refused is known in servers.yaml. */
export function keysOf(network: Network, tried: NetworkTried): string[] {
  return network.ssh.find((s) => s.host === written(tried.host, tried.port ?? 22))?.keys ?? [];
}

/** written is a host with its port, as a rule has them. */
export function written(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** idle says that there is nothing to draw: the server reaches nothing, and has tried nothing. */
export function idle(reach: Reach): boolean {
  return reach.reaches.length + reach.waits.length + reach.blocked.length + reach.kept.length === 0;
}
