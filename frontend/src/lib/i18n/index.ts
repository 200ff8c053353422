import { createContext, use } from "react";
import { recall, remember } from "../storage";
import { en } from "./en";
import { es } from "./es";

export type Locale = "en" | "es";

type Plural<K> = K extends `${infer Base}_other` ? Base : K extends `${string}_one` ? never : K;

/** Key names a text. Those with _one and _other forms are named without, and want n. */
export type Key = Plural<keyof typeof en>;

export type Params = Record<string, string | number>;

export type Translate = (key: Key, params?: Params) => string;

const catalogues: Record<Locale, Record<string, string>> = { en, es };
const storageKey = "garita.language";

/** translate finds a text and fills in its {parameters}; n chooses among plural forms. */
export function translate(locale: Locale, key: Key, params: Params = {}): string {
  const texts = catalogues[locale];
  const n = params["n"];
  const form = typeof n === "number" ? `${key}_${new Intl.PluralRules(locale).select(n)}` : key;
  const text = texts[form] ?? texts[`${key}_other`] ?? texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = params[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? value.toLocaleString(locale) : value;
  });
}

/** preferred is the language chosen here, else the browser's, else English. */
export function preferred(): Locale {
  const chosen = recall(storageKey) ?? navigator.language;
  return chosen.toLowerCase().startsWith("es") ? "es" : "en";
}

export function prefer(locale: Locale) {
  remember(storageKey, locale);
}

export const LocaleContext = createContext<Locale>("en");

export function useLocale(): Locale {
  return use(LocaleContext);
}

export function useT(): Translate {
  const locale = use(LocaleContext);
  return (key, params) => translate(locale, key, params);
}
