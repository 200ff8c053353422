import { useEffect, useState } from "react";

/** useNow is the time, renewed every `every` milliseconds while on. */
export function useNow(every: number, on = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every, on]);
  return now;
}
