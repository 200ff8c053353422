import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const css = readFileSync("src/styles/tokens.css", "utf8");

// Text on what it stands on: [ink, grounds, least ratio]. Text needs 4.5, marks and frames 3.
const pairs: [string, string[], number][] = [
  ["ink", ["bg", "surface", "raised", "sunken", "hover", "wait-bg", "ok-bg", "no-bg"], 7],
  ["ink2", ["bg", "surface", "raised", "sunken", "hover", "wait-bg", "ok-bg", "no-bg"], 4.5],
  ["ink3", ["bg", "surface", "raised", "sunken", "hover", "wait-bg", "ok-bg", "no-bg"], 4.5],
  ["wait", ["wait-bg", "bg", "surface", "raised"], 4.5],
  ["ok", ["ok-bg", "ok-strong", "bg", "surface", "sunken"], 4.5],
  ["no", ["no-bg", "no-strong", "bg", "surface", "raised", "sunken"], 4.5],
  ["info", ["info-bg", "bg", "surface", "raised", "sunken"], 4.5],
  ["lamp-ink", ["lamp"], 4.5],
  ["bg", ["ink"], 7],
  ["focus", ["bg", "surface", "raised", "hover"], 3],
];

describe.each([
  ["light", 0],
  ["dark", 1],
] as const)("%s", (_, theme) => {
  it.each(pairs.flatMap(([ink, grounds, least]) => grounds.map((g) => [ink, g, least] as const)))(
    "%s on %s has at least %d",
    (ink, ground, least) => {
      expect(ratio(colour(ink, theme), colour(ground, theme))).toBeGreaterThanOrEqual(least);
    },
  );
});

function colour(name: string, theme: number): number[] {
  const found = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(css)?.[theme + 1];
  if (!found) throw new Error(`no token --${name}`);
  return [1, 3, 5].map((i) => parseInt(found.slice(i, i + 2), 16) / 255);
}

function ratio(a: number[], b: number[]): number {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

function luminance(rgb: number[]): number {
  const [r, g, b] = rgb.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
