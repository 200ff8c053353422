import { vi } from "vitest";
import type { Event } from "@/api/types";
import approval from "../../../daemon/api/testdata/approval.json";
import groups from "../../../daemon/api/testdata/approval-groups.json";
import toolChange from "../../../daemon/api/testdata/approval-tool.json";
import approvals from "../../../daemon/api/testdata/approvals.json";
import audit from "../../../daemon/api/testdata/audit.json";
import call from "../../../daemon/api/testdata/call.json";
import calls from "../../../daemon/api/testdata/calls.json";
import doctor from "../../../daemon/api/testdata/doctor.json";
import empty from "../../../daemon/api/testdata/empty.json";
import explanation from "../../../daemon/api/testdata/policy-explanation.json";
import grants from "../../../daemon/api/testdata/grants.json";
import observations from "../../../daemon/api/testdata/observations.json";
import networks from "../../../daemon/api/testdata/network.json";
import pins from "../../../daemon/api/testdata/pins.json";
import policy from "../../../daemon/api/testdata/policy.json";
import replay from "../../../daemon/api/testdata/policy-replay.json";
import hostile from "../../../daemon/api/testdata/approval-hostile.json";
import problem from "../../../daemon/api/testdata/problem.json";
import secretUses from "../../../daemon/api/testdata/secret-uses.json";
import secrets from "../../../daemon/api/testdata/secrets.json";
import serverLog from "../../../daemon/api/testdata/server-log.json";
import servers from "../../../daemon/api/testdata/servers.json";
import status from "../../../daemon/api/testdata/status.json";
import update from "../../../daemon/api/testdata/update.json";
import verification from "../../../daemon/api/testdata/verification.json";
import workspaceDiff from "../../../daemon/api/testdata/workspace-diff.json";
import workspaces from "../../../daemon/api/testdata/workspaces.json";
import applied from "../../../daemon/api/testdata/apply-result.json";

export const fixtures = {
  approval,
  approvals,
  audit,
  call,
  calls,
  doctor,
  empty,
  explanation,
  grants,
  groups,
  hostile,
  networks,
  observations,
  pins,
  policy,
  problem,
  replay,
  secrets,
  secretUses,
  serverLog,
  servers,
  status,
  toolChange,
  update,
  verification,
  workspaceDiff,
  workspaces,
  applied,
};

type Reply = unknown | ((body: unknown) => unknown);

/** Sent is one request that reached the daemon. */
export interface Sent {
  method: string;
  path: string;
  body: unknown;
  headers: Headers;
}

/** Refusal makes a reply an error. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {}
}

/** FakeDaemon answers fetch with fixtures, and lets a test say what happens. It remembers what was sent. */
export class FakeDaemon {
  readonly sent: Sent[] = [];
  readonly sockets: FakeSocket[] = [];

  constructor(private replies: Record<string, Reply>) {}

  /** on sets the answer to one route from now on, "GET /status". */
  on(route: string, reply: Reply) {
    this.replies = { ...this.replies, [route]: reply };
  }

  /** event says that something changed, to everybody connected. */
  event(e: Event) {
    for (const s of this.sockets) s.onmessage?.({ data: JSON.stringify(e) } as MessageEvent<string>);
  }

  /** install puts it in the place of fetch and WebSocket until the test is over. */
  install(): this {
    vi.stubGlobal("fetch", (url: string, init: RequestInit) => this.answer(url, init));
    const sockets = this.sockets;
    vi.stubGlobal(
      "WebSocket",
      class extends FakeSocket {
        constructor(url: string, protocols: string[]) {
          super(url, protocols);
          sockets.push(this);
        }
      },
    );
    return this;
  }

  private async answer(url: string, init: RequestInit): Promise<Response> {
    const { pathname, search } = new URL(url, "http://x");
    const path = decodeURIComponent(pathname.replace("/api/v1", ""));
    const body = init.body ? (JSON.parse(init.body as string) as unknown) : undefined;
    this.sent.push({ method: init.method ?? "GET", path, body, headers: new Headers(init.headers) });
    const reply = this.replies[`${init.method} ${path}${search}`] ?? this.replies[`${init.method} ${path}`];
    const value = typeof reply === "function" ? (reply as (body: unknown) => unknown)(body) : reply;
    if (value instanceof Refusal) return new Response(JSON.stringify(value.body), { status: value.status });
    if (value === undefined) return new Response(JSON.stringify({ title: `no fixture for ${path}` }), { status: 404 });
    return new Response(JSON.stringify(value));
  }
}

class FakeSocket {
  onopen?: () => void;
  onclose?: () => void;
  onmessage?: (e: MessageEvent<string>) => void;
  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {
    queueMicrotask(() => this.onopen?.());
  }
  close() {}
}

/** unreached is what there is to say of a server that reaches nothing. */
export function unreached(server: string) {
  return {
    server,
    allow: [],
    lan: [],
    host_ports: [],
    ssh: [],
    public_web: false,
    deny: [],
    ask: true,
    none: false,
    granted: [],
    live: [],
    tried: [],
  };
}

/** many is a daemon in the midst of things. */
export function many(): FakeDaemon {
  const routes: Record<string, Reply> = {
    "GET /status": status,
    "GET /doctor": doctor,
    "GET /calls": calls,
    "GET /approvals": approvals,
    "GET /approval-groups": [],
    "GET /expired-approvals": [],
    "POST /expired-approvals": null,
    "GET /grants": grants.filter((g) => g.state === "valid"),
    "GET /grants?all=true": grants,
    "GET /policy": policy,
    "POST /policy/explain": explanation,
    "POST /policy/replay": replay,
    "GET /servers/files/pins": { ...pins, server: "files" },
    "GET /secrets": secrets,
    "GET /secrets/github-token/uses": secretUses,
    "GET /servers": servers,
    "GET /servers/files/log": serverLog,
    "GET /workspaces": workspaces,
    "GET /workspaces/files/diff": workspaceDiff,
    "POST /workspaces/files/apply": applied,
    "GET /audit": audit,
    "POST /audit/verify": verification,
    [`GET /approvals/${hostile.id}`]: hostile,
    [`GET /approvals/${toolChange.id}`]: toolChange,
  };
  for (const s of servers)
    routes[`GET /servers/${s.name}/observation`] = { server: s.name, state: "none", seq: 0, seen: [], notes: [] };
  for (const s of servers)
    routes[`GET /servers/${s.name}/network`] = networks.find((n) => n.server === s.name) ?? unreached(s.name);
  for (const a of approvals) routes[`GET /approvals/${a.id}`] = a;
  routes[`GET /approvals/${approval.id}`] = approval; // with what can be chosen
  for (const c of calls.calls) routes[`GET /calls/${c.id}`] = c.id === call.id ? call : c;
  return new FakeDaemon(routes);
}

/** none is a daemon that was just installed. */
export function none(): FakeDaemon {
  return new FakeDaemon({
    "GET /status": empty.status,
    "GET /doctor": empty.doctor,
    "GET /calls": empty.calls,
    "GET /approvals": [],
    "GET /approval-groups": [],
    "GET /expired-approvals": [],
    "GET /grants": [],
    "GET /policy": { ...policy, state: "none", digest: "", problems: [], warnings: [], rules: [], projects: [] },
    "GET /secrets": { keeper: secrets.keeper, secrets: [] },
    "GET /servers": [],
    "GET /workspaces": [],
    "GET /audit": [],
  });
}

/** broken is a daemon that refuses everything. */
export function broken(): FakeDaemon {
  const routes = ["status", "doctor", "calls", "approvals", "servers", "workspaces", "audit", "grants", "policy", "secrets"];
  return new FakeDaemon(Object.fromEntries(routes.map((r) => [`GET /${r}`, new Refusal(problem.status, problem)])));
}
