import { describe, expect, it } from "vitest";
import { count, parse } from "./diff";

const unified = `--- a/x
+++ b/x
@@ -3,4 +3,4 @@ fn
 same
-return a + HOUR
+return a + lifetime
--- not a header
+++ neither
\\ No newline at end of file
`;

describe("parse", () => {
  it("numbers lines and leaves the file headers out", () => {
    const lines = parse(unified);
    expect(lines.map((l) => [l.kind, l.before, l.after])).toEqual([
      ["hunk", undefined, undefined],
      ["same", 3, 3],
      ["del", 4, undefined],
      ["add", undefined, 4],
      ["del", 5, undefined],
      ["add", undefined, 5],
      ["note", undefined, undefined],
    ]);
    expect(count(lines)).toEqual({ added: 2, removed: 2 });
  });

  it("takes lines of the file that look like headers as lines", () => {
    expect(parse(unified)[4]!.text).toBe("-- not a header");
  });

  it("marks the changed part of an edited line", () => {
    const [, , del, add] = parse(unified);
    expect(del!.text.slice(...del!.changed!)).toBe("HOUR");
    expect(add!.text.slice(...add!.changed!)).toBe("lifetime");
  });

  it("reads nothing from nothing", () => {
    expect(parse("")).toEqual([]);
  });
});
