import { useState } from "react";
import type { LiveConnection } from "@/api/types";

const still = 250; // two looks nearer than this say nothing

interface Look {
  live: LiveConnection[];
  at: number;
  rates: ReadonlyMap<string, number>;
}

/** liveKey names a connection among those of all sandboxes. */
export const liveKey = (c: LiveConnection) => `${c.sandbox} ${c.id}`;

/** useRates is how many bytes a second pass on each connection, both ways, between the last two looks. */
export function useRates(live: LiveConnection[]): ReadonlyMap<string, number> {
  const [look, setLook] = useState<Look>(() => ({ live, at: Date.now(), rates: new Map() }));
  if (look.live === live) return look.rates;
  const next = after(look, live);
  setLook(next);
  return next.rates;
}

function after(before: Look, live: LiveConnection[]): Look {
  const at = Date.now();
  const seconds = (at - before.at) / 1000;
  if (seconds * 1000 < still) return { live, at: before.at, rates: before.rates };
  const rates = new Map<string, number>();
  for (const c of live) {
    const was = before.live.find((b) => liveKey(b) === liveKey(c));
    if (was) rates.set(liveKey(c), Math.max(0, (c.sent + c.received - was.sent - was.received) / seconds));
  }
  return { live, at, rates };
}
