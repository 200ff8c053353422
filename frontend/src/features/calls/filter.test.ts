import { expect, it } from "vitest";
import type { Call } from "@/api/types";
import page from "../../../../daemon/api/testdata/calls.json";
import { matches } from "./filter";

const calls = page.calls as Call[];

it.each([
  ["no filter keeps all", undefined, undefined, calls.length],
  ["every word must be there", "files session.ts", undefined, 2],
  ["the agent counts", "cursor", undefined, 4],
  ["a changed file counts", "report.lock", undefined, 1],
  ["what waits", undefined, "waiting", 2],
  ["a person's own choice", undefined, "you", 2],
  ["both", "sqlite", "refused", 1],
  ["nothing", "no such thing", undefined, 0],
])("%s", (_, q, show, want) => {
  expect(calls.filter((c) => matches(c, q, show))).toHaveLength(want);
});
