import { expect, it } from "vitest";
import type { FileDiff } from "@/api/types";
import { tree } from "./tree";

const file = (path: string, folder = "/shop"): FileDiff => ({ folder, path, kind: "added", type: "file", size: 1, unified: "" });

it("draws folders before files and lone folders together", () => {
  const rows = tree([
    file("package.json"),
    file("src/auth/session.ts"),
    file("src/auth/touch.ts"),
    file("a/b/c.ts"),
    file("src/x.ts"),
  ]);
  expect(rows.map((r) => `${" ".repeat(r.depth)}${r.name}${r.file ? "" : "/"}`)).toEqual([
    "/shop/",
    " a/b/",
    "  c.ts",
    " src/",
    "  auth/",
    "   session.ts",
    "   touch.ts",
    "  x.ts",
    " package.json",
  ]);
});

it("keeps host folders apart", () => {
  const rows = tree([file("x", "/b"), file("x", "/a")]);
  expect(rows.map((r) => r.name)).toEqual(["/a", "x", "/b", "x"]);
  expect(new Set(rows.map((r) => r.key)).size).toBe(4);
});
