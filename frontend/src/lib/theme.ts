import { useSyncExternalStore } from "react";
import { recall, remember } from "./storage";

export type Theme = "system" | "light" | "dark";

const key = "garita.theme";
const listeners = new Set<() => void>();

export function theme(): Theme {
  const stored = recall(key);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function setTheme(next: Theme) {
  remember(key, next === "system" ? null : next);
  applyTheme();
  listeners.forEach((l) => l());
}

/** applyTheme puts the stored choice on the document; without one the system's holds. */
export function applyTheme() {
  const chosen = theme();
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}

export function useTheme(): Theme {
  return useSyncExternalStore((l) => {
    listeners.add(l);
    return () => listeners.delete(l);
  }, theme);
}
