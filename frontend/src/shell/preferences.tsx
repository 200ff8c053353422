import { createContext, use } from "react";
import type { Locale } from "@/lib/i18n";

interface Language {
  locale: Locale;
  setLocale: (locale: Locale) => void;
}

/** Preferences carries how to change the language. */
export const Preferences = createContext<Language>({ locale: "en", setLocale: () => {} });

export function useLanguage(): Language {
  return use(Preferences);
}
