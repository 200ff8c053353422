import type { Translate } from "@/lib/i18n";
import { visible } from "@/lib/visible";

/** inWords says what a rule lets through, as a person would. Text without a port means 443. */
export function inWords(rule: string, t: Translate): string {
  const text = rule.trim().toLowerCase();
  if (text === "public-web") return t("network.words.public");
  const found = /^(.*?)(?::(\d+))?$/.exec(text)!;
  const bare = /^[0-9a-f]*:[0-9a-f:.]*$/i.test(text); // an IPv6 address without brackets
  const host = bare ? text : found[1]!;
  const port = bare ? "443" : (found[2] ?? "443");
  if (host.startsWith("*.")) return t("network.words.below", { host: visible(host.slice(2)), port });
  return t("network.words.host", { host: visible(host), port });
}
