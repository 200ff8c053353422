import { expect, it } from "vitest";
import { bytes, took } from "./format";

it.each([
  [0, "0 ms"],
  [4.12, "4.1 ms"],
  [412, "412 ms"],
  [999.6, "1 s"],
  [8020, "8 s"],
  [12_400, "12 s"],
  [600_000, "10 min"],
  [7_200_000, "2 h"],
])("%d ms took %s", (ms, want) => {
  expect(took(ms)).toBe(want);
});

it.each([
  [0, "0 B"],
  [1023, "1,023 B"],
  [1536, "1.5 KiB"],
  [5 << 20, "5 MiB"],
])("%d bytes are %s", (n, want) => {
  expect(bytes(n, "en")).toBe(want);
});
