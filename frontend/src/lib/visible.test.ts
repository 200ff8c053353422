import { describe, expect, it } from "vitest";
import { scriptsMixed, split, visible } from "./visible";

describe("split", () => {
  it.each([
    ["plain text stays one piece", "src/a b.ts", [{ text: "src/a b.ts" }]],
    ["nothing is nothing", "", []],
    [
      "a direction override",
      "a\u202eb",
      [{ text: "a" }, { text: "⟨U+202E⟩", mark: "U+202E RIGHT-TO-LEFT OVERRIDE" }, { text: "b" }],
    ],
    ["an escape", "\u001b[2J", [{ text: "⟨U+001B⟩", mark: "U+001B ESCAPE" }, { text: "[2J" }]],
    ["a tag character beyond the basic plane", "\u{e0041}", [{ text: "⟨U+E0041⟩", mark: "U+E0041 INVISIBLE CHARACTER" }]],
    ["a letter without a shape", "\u3164", [{ text: "⟨U+3164⟩", mark: "U+3164 INVISIBLE CHARACTER" }]],
    ["a lone surrogate", "\ud800", [{ text: "⟨U+D800⟩", mark: "U+D800 INVISIBLE CHARACTER" }]],
    ["a line end on one line", "a\nb", [{ text: "a" }, { text: "⏎", mark: "U+000A LINE END" }, { text: "b" }]],
    ["accents and emoji are letters", "né 🙂 日本", [{ text: "né 🙂 日本" }]],
  ])("%s", (_, text, want) => {
    expect(split(text, false)).toEqual(want);
  });

  it("keeps line ends where there is room for lines, but not a return", () => {
    expect(visible("a\nb")).toBe("a⏎b");
    expect(split("a\nb", true)).toEqual([{ text: "a\nb" }]);
    expect(split("a\r\nb", true).map((s) => s.text)).toEqual(["a", "⟨U+000D⟩", "\nb"]);
  });
});

describe("scriptsMixed", () => {
  it("names words that pass for others", () => {
    expect(scriptsMixed("\u0430pple pear \u043c\u043e\u0441\u043a\u0432\u0430")).toEqual(["\u0430pple"]);
    expect(scriptsMixed("plain")).toEqual([]);
  });
});
