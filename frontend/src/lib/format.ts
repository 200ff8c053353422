// Numbers and times as people read them. Durations are milliseconds, sizes bytes.

/** clock is the time of day, to the second. */
export function clock(at: string | Date): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour12: false });
}

/** moment is a whole date and time in the reader's own manner. */
export function moment(at: string | Date, locale: string): string {
  return new Date(at).toLocaleString(locale, { dateStyle: "medium", timeStyle: "medium" });
}

/** minute is a date and time to the minute, for where there is little room. */
export function minute(at: string | Date, locale: string): string {
  return new Date(at).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
}

/** took writes a duration with the one unit that fits. */
export function took(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1).replace(/\.0$/, "")} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0).replace(/\.0$/, "")} s`;
  if (ms < 3_599_500) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}

/** bytes writes a size with the one unit that fits. */
export function bytes(n: number, locale: string): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${n.toLocaleString(locale, { maximumFractionDigits: n < 10 && unit > 0 ? 1 : 0 })} ${units[unit]}`;
}

/** sameDay says whether two times fall on one day here. */
export function sameDay(a: string | Date, b: string | Date): boolean {
  return new Date(a).toDateString() === new Date(b).toDateString();
}
