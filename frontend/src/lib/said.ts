// The daemon speaks English, in whole sentences: its record, its command line and this page say the
// same. In another language the page knows the commonest of them by their shape: `templates` are the
// daemon's own formats with a {word} where something is put in, and what they mean. A sentence that
// no template knows stays as it was said; said.test.ts sees to it that the daemon still says each.
import type { Locale } from "./i18n";
import { templates } from "./said-es";

interface Known {
  shape: RegExp;
  names: string[];
  text: string;
}

let known: Known[] | undefined;

/** inLanguage is a text of the daemon in the reader's language, as far as it is known. */
export function inLanguage(text: string, locale: Locale): string {
  if (locale === "en" || text === "") return text;
  known ??= templates.map(([said, means]) => compile(said, means));
  return whole(text, known) ?? inParts(text, known);
}

/** whole is a text that is one known sentence. What was put in is a sentence itself where it is named {…said}. */
function whole(text: string, all: Known[]): string | undefined {
  for (const { shape, names, text: means } of all) {
    const found = shape.exec(text);
    if (!found) continue;
    const values = Object.fromEntries(
      names.map((name, i) => {
        const value = found[i + 1]!;
        return [name, name.endsWith("said") ? (whole(value, all) ?? inParts(value, all)) : value];
      }),
    );
    return means.replace(/\{(\w+)\}/g, (gap, name: string) => values[name] ?? gap);
  }
  return undefined;
}

/** inParts is a text of several sentences, each by itself. */
function inParts(text: string, all: Known[]): string {
  const parts = text.split(/(?<=\.) (?=\p{Lu})/u);
  return parts.length < 2 ? text : parts.map((p) => whole(p, all) ?? p).join(" ");
}

function compile(said: string, means: string): Known {
  const names: string[] = [];
  const shape = said
    .split(/(\{\w+\})/)
    .map((part) => {
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      if (!name) return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      names.push(name);
      return name === "n" ? "(\\d+)" : name.endsWith("word") ? "(\\S+)" : "([\\s\\S]+?)";
    })
    .join("");
  return { shape: new RegExp(`^${shape}$`, "u"), names, text: means };
}
