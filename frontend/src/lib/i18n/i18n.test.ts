import { describe, expect, it } from "vitest";
import { en } from "./en";
import { es } from "./es";
import { translate } from "./index";

const params = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();

describe("catalogues", () => {
  it("name the same texts", () => {
    expect(Object.keys(es).sort()).toEqual(Object.keys(en).sort());
  });

  it.each(Object.keys(en) as (keyof typeof en)[])("%s has the same parameters in both", (key) => {
    expect(params(es[key])).toEqual(params(en[key]));
  });

  it("hold no exclamation mark", () => {
    for (const text of [...Object.values(en), ...Object.values(es)]) expect(text).not.toMatch(/[!¡]/);
  });
});

describe("translate", () => {
  it("chooses the form by number", () => {
    expect(translate("en", "home.waiting", { n: 1 })).toBe("1 question waits for you");
    expect(translate("en", "home.waiting", { n: 2 })).toBe("2 questions wait for you");
    expect(translate("es", "home.waiting", { n: 1 })).toBe("Te espera 1 pregunta");
  });

  it("does not read parameters for parameters", () => {
    expect(translate("en", "approval.through", { server: "{tool}", tool: "x" })).toBe("through {tool} (x)");
  });
});
