import { useState } from "react";
import { recall, remember } from "@/lib/storage";

const storageKey = "garita.kept";
const most = 200;

/** useKept is the refusals of a server that the person has seen and wants kept: this browser folds them away.
 * It decides nothing; what is blocked is blocked. */
export function useKept(server: string): [kept: ReadonlySet<string>, keep: (key: string, on: boolean) => void] {
  const [all, setAll] = useState(read);
  const mine = new Set(all.filter(([s]) => s === server).map(([, key]) => key));
  const keep = (key: string, on: boolean) => {
    const rest = read().filter(([s, k]) => s !== server || k !== key);
    const next = (on ? [...rest, [server, key] as const] : rest).slice(-most);
    remember(storageKey, JSON.stringify(next));
    setAll(next);
  };
  return [mine, keep];
}

type Kept = readonly [server: string, key: string];

function read(): readonly Kept[] {
  try {
    const found = JSON.parse(recall(storageKey) ?? "[]") as unknown;
    return Array.isArray(found) ? found.filter(isKept) : [];
  } catch {
    return [];
  }
}

function isKept(x: unknown): x is Kept {
  return Array.isArray(x) && x.length === 2 && x.every((part) => typeof part === "string");
}
