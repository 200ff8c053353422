import { describe, expect, it } from "vitest";
import { parse, pretty, repeated, slice } from "./raw-json";

describe("raw JSON", () => {
  it("keeps what JSON.parse loses", () => {
    const text = '{"b":1,"1":12345678901234567890,"b":1.0,"c":"\\u202e"}';
    const node = parse(text);
    expect(pretty(node).replaceAll(/\s/g, "")).toBe('{"b":1,"1":12345678901234567890,"b":1.0,"c":"\u202e"}');
    expect(repeated(node)).toEqual(["b"]);
  });

  it("finds a value's raw text by path", () => {
    const text = '{"call": {"arguments" : { "n": 1e2 , "n":2}}}';
    expect(slice(text, ["call", "arguments"])).toBe('{ "n": 1e2 , "n":2}');
    expect(slice(text, ["call", "none"])).toBeUndefined();
  });

  it.each([
    ["", "{"],
    ["", '{"a":}'],
    ["", "[1,]"],
    ["", '"\u0001"'],
    ["", "1 2"],
    ["", "nul"],
    ["", "[".repeat(1000)],
  ])("refuses what is not JSON%s: %s", (_, text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  });

  it.each(["null", "[]", "{}", "-0.5e+10", '"\\"\\\\/"', '[{"a":[true,false]}]'])("agrees with JSON.parse on %s", (text) => {
    expect(JSON.parse(pretty(parse(text)))).toEqual(JSON.parse(text));
  });
});
