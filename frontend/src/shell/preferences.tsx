import { createContext, use } from "react";
import type { Locale } from "@/lib/i18n";

interface Language {
  locale: Locale;
  setLocale: (locale: Locale) => void;
}

/** Preferences carries how to change the language. */
export const Preferences = createContext<Language>({ locale: "en", setLocale: () => {} });

/** Leaving carries how to sign out; undefined where there is no session to end. */
export const Leaving = createContext<(() => void) | undefined>(undefined);

export function useLanguage(): Language {
  return use(Preferences);
}
