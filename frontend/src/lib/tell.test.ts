import { expect, it } from "vitest";
import { tell } from "./tell";

it.each([
  ["change src/auth/session.ts", ["src/auth/session.ts"]],
  ["push 3 commits to origin/main", ["origin/main"]],
  ["move src/util.ts to src/lib/util.ts", ["src/util.ts", "src/lib/util.ts"]],
  ["change package.json", ["package.json"]],
  ["search “session expires early” in acme/shop", ["“session expires early”", "acme/shop"]],
  ["fetch https://nodejs.org/api/fs.html", ["https://nodejs.org/api/fs.html"]],
  ["create 3 entities", []],
])("in “%s” the objects are %j", (sentence, want) => {
  const words = tell(sentence);
  expect(words.filter((w) => w.object).map((w) => w.text)).toEqual(want);
  expect(words.map((w) => w.text).join("")).toBe(sentence);
});
