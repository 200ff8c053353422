import axe from "axe-core";
import { expect } from "vitest";

/** expectAccessible runs axe over the page. Contrast needs layout: styles/contrast.test.ts holds it. */
export async function expectAccessible(root: Element = document.body) {
  const found = await axe.run(root, { rules: { "color-contrast": { enabled: false }, region: { enabled: false } } });
  expect(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" ")}`)).toEqual([]);
}
