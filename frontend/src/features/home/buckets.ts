import { kindOf, type Kind } from "@/api/decision";
import type { Call } from "@/api/types";

/** Bucket is the calls of one stretch of time, counted by kind. */
export interface Bucket {
  from: number;
  counts: Record<Kind, number>;
  total: number;
}

const none = (): Record<Kind, number> => ({ waiting: 0, read: 0, you: 0, refused: 0, other: 0 });

/** buckets spreads calls (newest first) over n equal stretches, oldest first. */
export function buckets(calls: Call[], n: number): Bucket[] {
  const times = calls.map((c) => Date.parse(c.at));
  const first = Math.min(...times);
  const width = Math.max(1, (Math.max(...times) - first + 1) / n);
  const out: Bucket[] = Array.from({ length: n }, (_, i) => ({ from: first + i * width, counts: none(), total: 0 }));
  calls.forEach((c, i) => {
    const bucket = out[Math.min(n - 1, Math.floor((times[i]! - first) / width))]!;
    bucket.counts[kindOf(c)]++;
    bucket.total++;
  });
  return out;
}
