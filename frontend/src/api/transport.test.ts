import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeDaemon, Refusal } from "@/test/daemon";
import { claim, follow, get, Refused, signedIn } from "./transport";

beforeEach(() => history.replaceState(null, "", "/"));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  delete window.runtime;
});

describe("claim", () => {
  it.each(["#t=once", "#token=once"])("trades %s for the token of this port and takes it out of the address", async (hash) => {
    const daemon = new FakeDaemon({ "POST /browser-sessions/claim": { token: "second" } }).install();
    history.replaceState(null, "", `/approvals?review=r1${hash}`);
    expect(await claim()).toBe(true);
    expect(location.href).not.toContain("once");
    expect(location.search).toBe("?review=r1");
    expect(daemon.sent[0]!.body).toEqual({ token: "once" });
    expect(signedIn()).toBe(true);
  });

  it("leaves an address without one alone", async () => {
    const daemon = new FakeDaemon({}).install();
    expect(await claim()).toBe(false);
    expect(daemon.sent).toEqual([]);
    expect(signedIn()).toBe(false);
  });

  it("takes a used link out of the address too", async () => {
    new FakeDaemon({ "POST /browser-sessions/claim": new Refusal(401, { title: "The link is used" }) }).install();
    history.replaceState(null, "", "/#t=used");
    await expect(claim()).rejects.toThrow("The link is used");
    expect(location.hash).toBe("");
    expect(signedIn()).toBe(false);
  });
});

describe("requests", () => {
  it("carry the token of this port", async () => {
    localStorage.setItem("garita.token", "second");
    const daemon = new FakeDaemon({ "GET /status": {} }).install();
    await get("/status");
    expect(daemon.sent[0]!.headers.get("X-Garita-Token")).toBe("second");
  });

  it("make a problem of whatever is refused", async () => {
    new FakeDaemon({ "GET /status": new Refusal(502, "not a problem") }).install();
    await expect(get("/status")).rejects.toMatchObject({ problem: { status: 502, code: "internal" } });
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    const err = await get("/status").catch((e: unknown) => e);
    expect(err).toBeInstanceOf(Refused);
    expect((err as Refused).problem.next).toBe("garita daemon");
  });
});

describe("follow", () => {
  it("goes on from the last event, waiting longer each time", async () => {
    vi.useFakeTimers();
    localStorage.setItem("garita.token", "second");
    const daemon = new FakeDaemon({}).install();
    const heard: unknown[] = [];
    const stop = follow({ event: (e) => heard.push(e.seq), link: (up) => heard.push(up) });
    await vi.advanceTimersByTimeAsync(0);
    expect(daemon.sockets[0]!.url).toMatch(/\/api\/v1\/events\?since=0$/);
    expect(daemon.sockets[0]!.protocols).toEqual(["garita.events", "garita.token.second"]);
    daemon.event({ seq: 41, kind: "call", id: "c1" });
    daemon.sockets[0]!.onclose?.();
    await vi.advanceTimersByTimeAsync(299);
    expect(daemon.sockets).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(daemon.sockets[1]!.url).toMatch(/since=41$/);
    expect(heard).toEqual([true, 41, false, true]);
    stop();
    daemon.sockets[1]!.onclose?.();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(daemon.sockets).toHaveLength(2);
  });

  it("hears the window's events where there is a window, without a token", async () => {
    const handlers: Record<string, (data: never) => void> = {};
    window.runtime = {
      EventsOn: (name, callback) => {
        handlers[name] = callback;
        return () => delete handlers[name];
      },
    };
    localStorage.setItem("garita.token", "of a browser");
    const daemon = new FakeDaemon({ "GET /status": {} }).install();
    const heard: unknown[] = [];
    const stop = follow({ event: (e) => heard.push(e.id), link: (up) => heard.push(up) });
    handlers["garita:event"]!({ seq: 1, kind: "call", id: "c1" } as never);
    handlers["garita:link"]!("down" as never);
    expect(heard).toEqual([true, "c1", false]);
    expect(daemon.sockets).toHaveLength(0);
    await get("/status");
    expect(daemon.sent[0]!.headers.has("X-Garita-Token")).toBe(false);
    stop();
    expect(handlers).toEqual({});
  });
});
