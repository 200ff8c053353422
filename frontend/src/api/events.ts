import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { follow } from "./transport";
import type { Event } from "./types";

/** Link is the line to the daemon: down after it was up means that what is shown may be old. */
export type Link = "connecting" | "up" | "down";

let link: Link = "connecting";
const listeners = new Set<() => void>();

function setLink(next: Link) {
  if (link === next) return;
  link = next;
  listeners.forEach((l) => l());
}

export function useLink(): Link {
  return useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => link,
  );
}

// Events come in bursts; the screen needs each answer once.
const settle = 60;

/** watch renews queries as the daemon says that things change, until the function it returns is called. */
export function watch(client: QueryClient): () => void {
  const stale = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const keys = [...stale];
    stale.clear();
    for (const key of keys) void client.invalidateQueries(key === "*" ? undefined : { queryKey: JSON.parse(key) as string[] });
  };
  const renew = (keys: string[][]) => {
    for (const key of keys) stale.add(key.length ? JSON.stringify(key) : "*");
    timer ??= setTimeout(flush, settle);
  };

  const stop = follow({
    event(e) {
      if (e.kind === "progress" && e.progress)
        client.setQueryData(["progress", e.progress.server], e.progress.final ? null : e.progress);
      renew(touched(e));
    },
    link(up) {
      if (up && link === "down") renew([[]]);
      setLink(up ? "up" : "down");
      if (!up) renew([["status"]]);
    },
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

/** touched names the queries that an event makes old; one empty key means all. */
export function touched(e: Event): string[][] {
  switch (e.kind) {
    case "call":
      return [["calls"], ["call", e.id], ["status"], ["audit"], ["workspaces"], ["diff"]];
    case "approval":
      return [["approvals"], ["approval", e.id], ["groups"], ["expired"], ["calls"], ["status"], ["audit"]];
    case "grant":
      return [["grants"], ["network"], ["audit"]];
    case "network":
      return [["network", e.id], ["audit"]];
    case "observation":
      return [["observation", e.id], ["servers"], ["audit"]];
    case "secret":
      return [["secrets"], ["uses"], ["audit"]];
    case "policy":
      return [["policy"], ["explain"], ["status"], ["audit"]];
    case "server":
    case "session":
      return [["servers"], ["log"], ["pins"], ["network"], ["secrets"], ["status"], ["audit"]];
    case "workspace":
      return [["workspaces"], ["diff"]];
    case "progress":
      return e.progress?.final ? [["servers"], ["status"]] : [];
    case "status":
      return [["status"], ["doctor"]];
    case "reset":
      return [[]];
    default:
      return []; // a newer daemon
  }
}
