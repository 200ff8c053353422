import { expect, it } from "vitest";
import type { Call } from "@/api/types";
import page from "../../../../daemon/api/testdata/calls.json";
import { buckets } from "./buckets";

const calls = page.calls as Call[];

it("loses no call and keeps the order of time", () => {
  const found = buckets(calls, 12);
  expect(found).toHaveLength(12);
  expect(found.reduce((n, b) => n + b.total, 0)).toBe(calls.length);
  expect(found.map((b) => b.from)).toEqual([...found.map((b) => b.from)].sort((a, b) => a - b));
});

it("takes a single call", () => {
  const found = buckets(calls.slice(0, 1), 12);
  expect(found[0]!.total).toBe(1);
  expect(found[0]!.counts.waiting).toBe(1);
});
