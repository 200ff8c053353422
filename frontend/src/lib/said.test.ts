import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inLanguage } from "./said";
import { templates } from "./said-es";

const root = join(import.meta.dirname, "../../..");

/** source is what the daemon is made of, but for its tests. */
function source(dir: string): string {
  return readdirSync(join(root, dir), { recursive: true, encoding: "utf8" })
    .filter((f) => f.endsWith(".go") && !f.endsWith("_test.go"))
    .map((f) => readFileSync(join(root, dir, f), "utf8"))
    .join("\n");
}

describe("a sentence of the daemon", () => {
  it("is what the daemon says still, for each that is known", () => {
    const all = ["approvals", "daemon", "sandbox/egress", "store/seal"].map(source).join("\n").replaceAll('\\"', '"');
    const gone = templates.flatMap(([said]) =>
      said
        .split(/\{\w+\}/)
        // It is put together of parts: "It " + does + ": " + why.
        .map((part) =>
          part
            .replace(/^It /, "")
            .replace(/[.,: ]+$/, "")
            .trim(),
        )
        .filter((part) => part.length > 3 && !all.includes(part))
        .map((part) => `${said}: ${part}`),
    );
    expect(gone).toEqual([]);
  });

  it("says what was put in by the same names", () => {
    for (const [said, means] of templates)
      expect((means.match(/\{\w+\}/g) ?? []).sort()).toEqual((said.match(/\{\w+\}/g) ?? []).sort());
  });

  it.each([
    ["api.example.com is not in this server's list of hosts.", "api.example.com no está en la lista de hosts de este servidor."],
    ["It may change something: Its SQL only reads.", "Puede cambiar algo: Su SQL solo lee."],
    ["It runs commands or code: no such sentence.", "Ejecuta órdenes o código: no such sentence."],
    ["github.com is allowed at port 443, and not at 22.", "github.com está permitido en el puerto 443, y no en el 22."],
    [
      "It would be let through otherwise. A result of fetch reads like instructions to the agent.",
      "De otro modo pasaría. A result of fetch reads like instructions to the agent.",
    ],
    ["What nobody knows.", "What nobody knows."],
    ["git wants to reach x.example:443", "git quiere llegar a x.example:443"],
  ])("%s", (said, means) => {
    expect(inLanguage(said, "es")).toBe(means);
    expect(inLanguage(said, "en")).toBe(said);
  });

  it("puts in what it holds as it stands, whatever that is", () => {
    expect(inLanguage("{x}$&\u202e is not in this server's list of hosts.", "es")).toBe(
      "{x}$&\u202e no está en la lista de hosts de este servidor.",
    );
  });
});
