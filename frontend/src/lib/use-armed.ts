import { useEffect, useState } from "react";

/** How long what is shown must have stood still before it can be answered, in milliseconds. */
export const armAfter = 700;

/** useArmed is true once what is shown (its fingerprint) has stood unchanged before the person's
 * eyes for a moment. Any change, and coming back from another window, starts anew: a click that
 * was meant for something else must not answer. */
export function useArmed(fingerprint: string | undefined): boolean {
  const [looks, setLooks] = useState(0);
  const [armedFor, setArmedFor] = useState<string>();
  const shown = fingerprint === undefined ? undefined : `${looks} ${fingerprint}`;

  useEffect(() => {
    const again = () => setLooks((n) => n + 1);
    addEventListener("focus", again);
    document.addEventListener("visibilitychange", again);
    return () => {
      removeEventListener("focus", again);
      document.removeEventListener("visibilitychange", again);
    };
  }, []);

  useEffect(() => {
    if (shown === undefined) return;
    const timer = setTimeout(() => setArmedFor(shown), armAfter);
    return () => clearTimeout(timer);
  }, [shown]);

  return shown !== undefined && armedFor === shown;
}
