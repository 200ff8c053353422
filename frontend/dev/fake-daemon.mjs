// A daemon made of fixtures, to look at the page alone: `npm run fake`, then `npm run dev`.
//
//   --port N      where to listen on loopback (7170; 0 takes a free one)
//   --socket P    also a unix socket, for the window
//   --scene S     many (default) | watching | watched | one | empty | hostile | group | tool | wall | unkept | locked | asking | dialogs | broken
//   --quiet       no new calls by themselves
//
// It serves dist/ too, with the content policy of the real daemon. Nothing here guards anything:
// it answers whoever asks, and is no part of what is shipped.
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const fixtures = join(here, "../../daemon/api/testdata");
const read = (name) => JSON.parse(readFileSync(join(fixtures, name), "utf8"));

/** start serves the scene until close() is called. Times are moved so that the newest call is now,
 * or as they stand in the fixtures with `still`. */
export async function start({ port = 0, socket, scene = "many", quiet = false, still = false } = {}) {
  const world = makeWorld(scene, still);
  const server = createServer((req, res) => void answer(world, req, res));
  const watchers = new Set();
  world.emit = (kind, id, more = {}) => {
    const e = { seq: ++world.seq, kind, id, ...more };
    for (const w of watchers) w(frame(JSON.stringify(e)));
  };
  server.on("upgrade", (req, socket) => upgrade(world, watchers, req, socket));
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const doors = [server];
  if (socket) {
    const other = createServer((req, res) => void answer(world, req, res));
    other.on("upgrade", (req, s) => upgrade(world, watchers, req, s));
    await new Promise((done) => other.listen(socket, done));
    doors.push(other);
  }
  const timer = quiet ? undefined : setInterval(() => happen(world), 2500);
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    world,
    close() {
      clearInterval(timer);
      for (const d of doors) {
        d.closeAllConnections();
        d.close();
      }
    },
  };
}

function makeWorld(scene, still) {
  const empty = read("empty.json");
  const w = {
    scene,
    seq: 9000,
    calls: read("calls.json").calls,
    approvals: read("approvals.json"),
    servers: read("servers.json"),
    workspaces: read("workspaces.json"),
    diff: read("workspace-diff.json"),
    audit: read("audit.json"),
    doctor: read("doctor.json"),
    status: read("status.json"),
    log: read("server-log.json"),
    grants: read("grants.json"),
    policy: read("policy.json"),
    pins: read("pins.json"),
    networks: read("network.json"),
    secrets: read("secrets.json"),
    observations: read("observations.json"),
    observed: {},
    groups: [],
    expired: [],
  };
  w.approvals[0] = read("approval.json"); // with what can be chosen
  if (scene === "empty") {
    const policy = { ...w.policy, state: "none", rules: [], problems: [], warnings: [], projects: [] };
    Object.assign(w, empty, {
      calls: empty.calls.calls,
      grants: [],
      policy,
      networks: [],
      secrets: { ...w.secrets, secrets: [] },
    });
  }
  if (scene === "dialogs") w.approvals = Object.values(dialogs());
  if (scene === "tool") w.approvals = [read("approval-tool.json")];
  if (scene === "group") gather(w);
  if (keepers[scene]) w.secrets.keeper = keepers[scene];
  if (scene === "wall") w.approvals = [atTheWall(w)];
  if (scene === "one") for (const k of ["calls", "approvals", "servers", "workspaces", "audit"]) w[k] = w[k].slice(0, 1);
  if (scene === "hostile") {
    const hostile = read("approval-hostile.json");
    w.approvals = [hostile];
    w.calls = [{ ...hostile.call, arguments: undefined }, ...w.calls.slice(2)];
    w.networks = [hostileNetwork()];
  }
  return still ? w : moved(w);
}

/** atTheWall is a question about a host, asked while its connection waits. */
function atTheWall(w) {
  const asked = read("approval-tool.json");
  const call = w.calls.find((c) => c.server === "git");
  return {
    ...asked,
    id: "r5e1d0c7d9e2f46588aa01b2c3d4e5f77",
    kind: "network",
    tool: undefined,
    title: "git wants to reach registry.npmjs.org",
    object: "registry.npmjs.org:443",
    stays: "The connection waits at the wall; nothing was looked up yet.",
    findings: [],
    before: "",
    network: { hosts: ["registry.npmjs.org:443"], call: call.id, after: false },
    call: {
      ...asked.call,
      rule: "the wall",
      reason: "registry.npmjs.org:443 is not in git's list of hosts; it was asked for in a call.",
      class_why: "",
      server: "git",
      tool: "",
      class: "write",
      sentence: "reach registry.npmjs.org:443",
      agent: call.agent,
    },
  };
}

/** hostileNetwork is what a server tries whose host names are written to deceive who reads them. */
function hostileNetwork() {
  const at = { first: "2026-11-29T13:12:40Z", last: "2026-11-29T14:02:31Z", count: 4 };
  const hosts = [
    "api.github.com.\u202emoc.live\u2066",
    "api.g\u0456thub.com",
    "allow\u200bed.example \u2713 allowed",
    `${"a".repeat(60)}.${"b".repeat(60)}.${"secret-".repeat(9)}.example`,
    "<img src=x onerror=alert(1)>.example",
    "\u001b[2J\u001b[1;1Hrm.example",
  ];
  const tried = hosts.map((host) => ({
    kind: "name",
    host,
    port: 443,
    why: `${host} is not in this server's list of hosts.`,
    ...at,
  }));
  tried[3].propose = `${hosts[3]}:443`;
  return {
    server: "git",
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
    tried,
  };
}

/** dialogs are the questions about twenty real calls, by their names. */
export function dialogs() {
  return JSON.parse(readFileSync(join(here, "../../daemon/testdata/dialogs.json"), "utf8"));
}

/** gather makes several like questions of one, and lets one have ended unseen. */
function gather(w) {
  w.groups = read("approval-groups.json");
  const one = w.approvals[0];
  w.expired = [{ ...w.approvals[1], state: "expired" }];
  w.approvals = w.groups[0].members.map(({ id, binding, tool, sentence, object }) => ({
    ...one,
    id,
    binding,
    object,
    diff: undefined,
    group: w.groups[0].id,
    call: { ...one.call, id: `c${id}`, tool, sentence, arguments: { path: object, content: "export {}\n" } },
  }));
}

/** moved brings all times forward so that the newest call is some seconds old. */
function moved(world) {
  const newest = Date.parse("2026-11-29T14:02:40Z");
  const by = Date.now() - newest;
  return JSON.parse(JSON.stringify(world), (_, v) =>
    typeof v === "string" && /^2026-11-29T[\d:.]+Z$/.test(v) ? new Date(Date.parse(v) + by).toISOString() : v,
  );
}

async function answer(world, req, res) {
  const url = new URL(req.url, "http://fake");
  if (!url.pathname.startsWith("/api/")) return file(url.pathname, res);
  let body = "";
  for await (const chunk of req) body += chunk;
  if (world.scene === "broken" && !url.pathname.endsWith("/claim")) return json(res, read("problem.json"), 412);
  const found = route(world, req.method, url, body ? JSON.parse(body) : {});
  if (found === undefined)
    return json(res, { status: 404, code: "not_found", title: "There is no such thing", detail: url.pathname }, 404);
  json(res, found, found?.status >= 400 ? found.status : 200);
}

function route(world, method, url, body) {
  const [, , , resource, name, verb, last] = url.pathname.split("/").map(decodeURIComponent);
  const status = () => ({ ...world.status, waiting: world.approvals.filter((a) => a.state === "pending").length });
  const table = {
    "GET status": () => status(),
    "GET doctor": () => world.doctor,
    "GET calls": () => (name ? whole(world, name) : page(world, url)),
    "GET approvals": () =>
      name ? world.approvals.find((a) => a.id === name) : world.approvals.filter((a) => a.state === "pending"),
    "POST approvals": () => (verb === "preview" ? preview(world, name, body) : decide(world, name, body)),
    "GET approval-groups": () => world.groups,
    "POST approval-answers": () => body.members.map((m) => decide(world, m.id, { ...m, approve: body.approve })),
    "GET expired-approvals": () => world.expired,
    "POST expired-approvals": () => ((world.expired = []), null),
    "GET grants": () => world.grants.filter((g) => url.searchParams.has("all") || g.state === "valid"),
    "DELETE grants": () => ((world.grants.find((g) => g.id === name).state = "revoked"), world.emit("grant", name), null),
    "GET policy": () => world.policy,
    "POST policy": () => read(name === "explain" ? "policy-explanation.json" : "policy-replay.json"),
    "GET servers": () =>
      verb === "log"
        ? world.log
        : verb === "pins"
          ? { ...world.pins, server: name }
          : verb === "network"
            ? networkOf(world, name)
            : verb === "observation"
              ? observationOf(world, name)
              : name
                ? world.servers.find((s) => s.name === name)
                : world.servers,
    "POST servers": () =>
      verb === "pins"
        ? answerPins(world, body)
        : verb === "network"
          ? changeNetwork(world, name, body)
          : verb === "observation"
            ? observe(world, name, last, body)
            : verb === "update"
              ? read("update.json")
              : stop(world, name),
    "DELETE servers": () => ((world.observed[name] = undefined), world.emit("observation", name), null),
    "GET secrets": () => (verb === "uses" ? read("secret-uses.json") : world.secrets),
    "POST secrets": () =>
      name === "keeper"
        ? Object.assign(world.secrets.keeper, keepers.ready)
        : verb === "rotate"
          ? rotate(world, name)
          : verb === "grants"
            ? grantSecret(world, name, body)
            : setSecret(world, body),
    "DELETE secrets": () => dropSecret(world, name, verb && last),
    "GET workspaces": () =>
      name ? { ...world.diff, workspace: world.workspaces.find((w) => w.server === name) } : world.workspaces,
    "POST workspaces": () => read("apply-result.json"),
    "GET audit": () => world.audit,
    "POST audit": () => read("verification.json"),
    "POST browser-sessions": () => ({ token: "fake" }),
    "DELETE browser-sessions": () => null,
  };
  return table[`${method} ${resource}`]?.();
}

function page(world, url) {
  const limit = Number(url.searchParams.get("limit") ?? 200);
  const before = url.searchParams.get("before");
  const from = before ? world.calls.findIndex((c) => c.id === before) + 1 : 0;
  const calls = world.calls.slice(from, from + limit);
  return { calls, next: from + limit < world.calls.length ? calls.at(-1).id : "" };
}

function whole(world, id) {
  const call = world.calls.find((c) => c.id === id);
  const asked = world.approvals.find((a) => a.call.id === id);
  return call && { ...call, arguments: asked?.call.arguments ?? read("call.json").arguments };
}

/** preview repeats what was offered for the scope, with what is asked for in its words. */
function preview(world, id, permit) {
  const offer = world.approvals.find((a) => a.id === id)?.offers.find((o) => o.scope === permit.scope);
  const said = (permit.match ?? []).map((m) => `${m.path.slice(1)} ${m.prefix ? "in " + m.prefix : "like " + m.command}`);
  return (
    offer && {
      ...offer,
      ...permit,
      words: offer.words.replace(/with .*$/, `with ${said.join(" and ")}; its other arguments may be anything`),
    }
  );
}

/** keepers are how the key of the secrets can stand, by scene. */
const keepers = {
  ready: { state: "ready", by: "keyring", why: "", next: "" },
  unkept: {
    state: "none",
    by: "",
    why: "No keyring: choose encrypted file store. Nothing on the session bus answers as org.freedesktop.secrets.",
    next: "garita secret unlock --create keeps the key in a file that a passphrase encrypts.",
  },
  locked: {
    state: "locked",
    by: "file",
    why: "The key of the secrets is in a file, and its passphrase has not been given since the daemon started.",
    next: "garita secret unlock",
  },
  asking: {
    state: "waiting",
    by: "keyring",
    why: "Keyring locked - waiting for you to unlock it.",
    next: "Unlock it where it asks, and it goes on by itself; or cancel: garita secret unlock --cancel.",
  },
};

/** setSecret keeps that there is one, and no value. */
function setSecret(world, { name }) {
  const now = new Date().toISOString();
  let s = world.secrets.secrets.find((x) => x.name === name);
  if (!s) world.secrets.secrets.push((s = { name, version: 0, created: now, from_command: false, grants: [] }));
  Object.assign(s, { missing: false, expired: false, expires: undefined, changed: now, version: s.version + 1 });
  world.emit("secret", name);
  return s;
}

function grantSecret(world, name, grant) {
  const s = world.secrets.secrets.find((x) => x.name === name);
  const weaker = grant.mode !== "placeholder";
  s.grants = s.grants.filter((g) => g.server !== grant.server).concat({ ...grant, weaker, in_force: true, words: "" });
  world.emit("secret", name);
  return s;
}

function dropSecret(world, name, server) {
  const all = world.secrets;
  if (server)
    all.secrets.find((s) => s.name === name).grants = all.secrets
      .find((s) => s.name === name)
      .grants.filter((g) => g.server !== server);
  else all.secrets = all.secrets.filter((s) => s.name !== name);
  world.emit("secret", name);
  return null;
}

function rotate(world, name) {
  const s = world.secrets.secrets.find((x) => x.name === name);
  const revoked = s.grants.map((g) => g.server);
  s.grants = [];
  world.emit("secret", name);
  return { uses: read("secret-uses.json"), revoked, ended: 1 };
}

function networkOf(world, server) {
  let n = world.networks.find((x) => x.server === server);
  if (!n) {
    n = {
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
    world.networks.push(n);
  }
  return n;
}

/** changeNetwork knows a host from a wildcard over everybody's names, and no more. */
function changeNetwork(world, server, { host, allow, forget }) {
  const n = networkOf(world, server);
  if (/^\*\.[a-z]+$/.test(host)) {
    const title = `change what ${server} may reach: "${host}": anybody can have a name below ${host.slice(2)}; name the hosts`;
    return { status: 422, code: "invalid", title, detail: "" };
  }
  const rule = /:\d+$/.test(host) ? host : `${host}:443`;
  if (host === "public-web") n.public_web = allow;
  else {
    const was = n.allow.length + n.lan.length;
    for (const list of ["allow", "lan"]) n[list] = n[list].filter((r) => r !== rule);
    const taken = n.allow.length + n.lan.length < was;
    n.deny = n.deny.filter((r) => r !== host && r !== rule);
    if (allow) n.allow.push(rule);
    else if (!taken && !forget) {
      n.deny.push(host);
      for (const t of n.tried) if (`${t.host}:${t.port}` === host) Object.assign(t, { kind: "denied", propose: undefined });
    }
  }
  if (allow) n.tried = n.tried.filter((t) => t.propose !== rule);
  else n.live = n.live.filter((l) => `${l.host}:${l.port}` !== rule);
  world.emit("network", server);
  return n;
}

function observationOf(world, server) {
  const was = world.scene === "watched" ? 1 : world.scene === "watching" ? 0 : undefined;
  if (!(server in world.observed) && was !== undefined) world.observed[server] = { ...world.observations[was], server };
  return world.observed[server] ?? { server, state: "none", seq: 0, seen: [], notes: [] };
}

/** observe begins, ends, changes or accepts what is watched, with what the fixtures have seen. */
function observe(world, server, verb, { mounts, minutes }) {
  const [begun, over] = world.observations;
  const now = Date.now();
  if (!verb)
    world.observed[server] = {
      ...begun,
      server,
      since: new Date(now).toISOString(),
      until: new Date(now + (minutes || 30) * 60_000).toISOString(),
      seen: [],
    };
  if (verb === "end") world.observed[server] = { ...over, server };
  if (verb === "mounts")
    for (const line of world.observed[server].proposal.lines)
      if (line.mount) line.change = mounts.includes(line.mount) ? "add" : "suggest";
  const shown = world.observed[server];
  if (verb === "accept") world.observed[server] = undefined;
  world.emit("observation", server);
  return shown;
}

function answerPins(world, { accept, items }) {
  for (const i of world.pins.items) {
    if (i.state === "waits" && (!items || items.includes(`${i.kind}/${i.name}`))) i.state = accept ? "accepted" : "refused";
  }
  return world.pins;
}

function decide(world, id, { approve, binding }) {
  const asked = world.approvals.find((a) => a.id === id);
  if (!asked) return undefined;
  if (asked.binding !== binding || asked.state !== "pending") {
    return {
      status: 409,
      code: "conflict",
      title: "It has changed meanwhile",
      detail: `the request is ${asked.state}`,
      next: "",
    };
  }
  finish(world, asked, approve ? "approved" : "denied");
  return asked;
}

function finish(world, asked, state) {
  const now = new Date().toISOString();
  Object.assign(asked, { state, answered: now, by: state === "withdrawn" ? "" : "page" });
  const ended =
    state === "approved" ? { effect: "allow", outcome: "done", duration_ms: 6.2 } : { effect: "deny", outcome: "refused" };
  const waited = { answer: state, by: asked.by, waited_ms: Date.now() - Date.parse(asked.asked) };
  Object.assign(world.calls.find((c) => c.id === asked.call.id) ?? {}, ended, waited);
  world.emit("approval", asked.id);
  world.emit("call", asked.call.id);
}

/** withdraw ends a request as a client that went away does. */
export function withdraw(world, id) {
  finish(
    world,
    world.approvals.find((a) => a.id === id),
    "withdrawn",
  );
}

function stop(world, name) {
  const server = world.servers.find((s) => s.name === name);
  Object.assign(server, { state: "stopped", instances: [] });
  world.emit("server", name);
  return null;
}

/** happen lets one more call happen. */
function happen(world) {
  const model = world.calls.filter((c) => c.outcome === "done")[Math.floor(Math.random() * 6)];
  if (!model) return;
  const call = { ...model, id: "c" + randomBytes(8).toString("hex"), at: new Date().toISOString() };
  world.calls.unshift(call);
  world.status.calls_today++;
  world.emit("call", call.id);
}

function json(res, value, status = 200) {
  res.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  res.end(value === null ? "" : JSON.stringify(value));
}

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

function file(path, res) {
  const dist = process.env.GARITA_DIST ?? join(here, "../dist");
  const wanted = join(dist, normalize(path));
  const name = extname(wanted) && existsSync(wanted) ? wanted : join(dist, "index.html");
  if (!existsSync(name))
    return json(res, { status: 404, code: "not_found", title: "The page is not built", detail: "npm run build" }, 404);
  res.writeHead(200, {
    "Content-Type": types[extname(name)] ?? "application/octet-stream",
    "Content-Security-Policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  });
  res.end(readFileSync(name));
}

function upgrade(world, watchers, req, socket) {
  const accept = createHash("sha1")
    .update(req.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
    .digest("base64");
  const protocol = (req.headers["sec-websocket-protocol"] ?? "").split(",")[0].trim();
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n` +
      (protocol ? `Sec-WebSocket-Protocol: ${protocol}\r\n` : "") +
      "\r\n",
  );
  const send = (bytes) => socket.write(bytes);
  watchers.add(send);
  send(frame(JSON.stringify({ seq: world.seq, kind: "reset", id: "" })));
  socket.on("data", (bytes) => (bytes[0] & 0x0f) === 8 && socket.end());
  socket.on("close", () => watchers.delete(send));
  socket.on("error", () => watchers.delete(send));
}

/** frame is one unmasked text message. */
function frame(text) {
  const body = Buffer.from(text);
  const head =
    body.length < 126 ? Buffer.from([0x81, body.length]) : Buffer.from([0x81, 126, body.length >> 8, body.length & 255]);
  return Buffer.concat([head, body]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name) => process.argv[process.argv.indexOf(`--${name}`) + 1];
  const has = (name) => process.argv.includes(`--${name}`);
  const fake = await start({
    port: has("port") ? Number(option("port")) : 7170,
    socket: has("socket") ? option("socket") : undefined,
    scene: has("scene") ? option("scene") : "many",
    quiet: has("quiet"),
  });
  console.log(`${fake.url}/#t=fake`);
}
