import { expect, it } from "vitest";
import { summary } from "./summary";

it.each([
  ["the sentence first", { outcome: "done", call: { sentence: "change a.ts", arguments: "…" } }, "change a.ts · outcome done"],
  ["what was decided", { call: { tool: "x" }, decision: { effect: "deny", rule: "" } }, "x · effect deny"],
  ["paths of changes", { changes: [{ path: "a" }, { path: "b" }], limits: [{ name: "memory" }] }, "changes a, b"],
  ["ids left out", { binding: "sha256:00", duration_ms: 4 }, "duration ms 4"],
  ["nothing", null, "null"],
])("tells %s", (_, body, want) => {
  expect(summary(body)).toBe(want);
});
