// The one place that speaks to the daemon. In a browser: fetch with the session's cookie and the
// token of this port, and one WebSocket. In the window: fetch through the asset server, and the
// events that the window repeats.

import { recall, remember } from "@/lib/storage";
import type { Event, Problem } from "./types";

const base = "/api/v1";
const tokenKey = "garita.token";
const firstRetry = 300;
const lastRetry = 10_000;

/** Refused is an answer of the daemon that says no; its problem says why and what to do. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.title);
  }
}

interface WailsRuntime {
  EventsOn(name: string, callback: (data: never) => void): () => void;
}

declare global {
  interface Window {
    runtime?: WailsRuntime;
  }
}

/** inWindow says whether this page is the window's, not a browser's. */
function inWindow(): boolean {
  return typeof window.runtime?.EventsOn === "function";
}

/** signedIn says whether there is something to show to the daemon. It may have run out. */
export function signedIn(): boolean {
  return inWindow() || recall(tokenKey) !== null;
}

/** signOut forgets this browser's token. */
export function signOut() {
  remember(tokenKey, null);
}

/** leave ends this browser's session at the daemon, and forgets its token whatever the daemon says to it. */
export async function leave(): Promise<void> {
  try {
    await remove("/browser-sessions");
  } finally {
    signOut();
  }
}

/** canLeave says whether there is a session to end: the window has none. */
export function canLeave(): boolean {
  return !inWindow();
}

/** claim trades the token of a one-time link, found in the address, for a session. The address
 * loses it first, so that it is in no history. It says whether there was such a token. */
export async function claim(): Promise<boolean> {
  const once = /^#(?:t|token)=(.+)$/.exec(location.hash)?.[1];
  if (!once) return false;
  history.replaceState(history.state, "", location.pathname + location.search);
  const claimed = await send<{ token: string }>("POST", "/browser-sessions/claim", { token: once });
  remember(tokenKey, claimed.token);
  return true;
}

export function get<T>(path: string): Promise<T> {
  return send<T>("GET", path);
}

export function post<T>(path: string, body?: unknown): Promise<T> {
  return send<T>("POST", path, body);
}

export function remove(path: string): Promise<void> {
  return send<void>("DELETE", path);
}

/** getText is get with the text of the answer too, for what JSON.parse would lose. */
export async function getText<T>(path: string): Promise<{ text: string; value: T }> {
  const text = await sendText("GET", path);
  return { text, value: JSON.parse(text) as T };
}

async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  const text = await sendText(method, path, body);
  return (text ? JSON.parse(text) : undefined) as T;
}

async function sendText(method: string, path: string, body?: unknown): Promise<string> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const token = recall(tokenKey);
  if (token && !inWindow()) headers["X-Garita-Token"] = token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await reach(base + path, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    credentials: "same-origin",
    cache: "no-store",
  });
  const text = await answer.text();
  if (answer.ok) return text;
  throw new Refused(problemOf(answer.status, text));
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (err) {
    throw new Refused({
      status: 0,
      code: "unreachable",
      title: "The daemon cannot be reached",
      detail: err instanceof Error ? err.message : String(err),
      next: "garita daemon",
    });
  }
}

function problemOf(status: number, text: string): Problem {
  try {
    const found = JSON.parse(text) as Partial<Problem>;
    if (typeof found.title === "string") return { status, code: "internal", detail: "", ...found, title: found.title };
  } catch {
    // not ours: said below
  }
  return { status, code: "internal", title: `The daemon answered with ${status}`, detail: text.slice(0, 200) };
}

/** Watcher hears what changed, and whether there is a line to the daemon at all. */
export interface Watcher {
  event(e: Event): void;
  link(up: boolean): void;
}

/** follow repeats the daemon's events until the function it returns is called. */
export function follow(watcher: Watcher): () => void {
  return inWindow() ? followWindow(watcher) : followSocket(watcher);
}

function followWindow(watcher: Watcher): () => void {
  const on = window.runtime!.EventsOn.bind(window.runtime);
  const offEvent = on("garita:event", (e: Event) => watcher.event(e));
  const offLink = on("garita:link", (state: string) => watcher.link(state === "up"));
  // The window was connected before this page listened.
  watcher.link(true);
  return () => {
    offEvent();
    offLink();
  };
}

function followSocket(watcher: Watcher): () => void {
  let since = 0;
  let wait = firstRetry;
  let over = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let socket: WebSocket | undefined;

  const connect = () => {
    socket = new WebSocket(eventsURL(since), ["garita.events", `garita.token.${recall(tokenKey) ?? ""}`]);
    socket.onopen = () => {
      wait = firstRetry;
      watcher.link(true);
    };
    socket.onmessage = (message: MessageEvent<string>) => {
      const e = JSON.parse(message.data) as Event;
      since = e.seq;
      watcher.event(e);
    };
    socket.onclose = () => {
      if (over) return;
      watcher.link(false);
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, lastRetry);
    };
  };
  connect();
  return () => {
    over = true;
    clearTimeout(timer);
    socket?.close();
  };
}

function eventsURL(since: number): string {
  return `ws://${location.host}${base}/events?since=${since}`;
}
