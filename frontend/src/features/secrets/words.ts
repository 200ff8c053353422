import type { SecretGrant } from "@/api/types";
import { moment } from "@/lib/format";
import type { Locale, Translate } from "@/lib/i18n";

/** inWords tells a grant that is not given yet, whole, in a sentence. */
export function inWords(g: SecretGrant, t: Translate, locale: Locale): string {
  const where = g.env ?? g.file ?? g.arg ?? "";
  const server = g.server || "…";
  const places = g.places.map((p) => placeWords(p, t)).join(t("secrets.words.or"));
  const parts = [
    g.mode === "sent"
      ? t("secrets.words.sent", { server, places: places || "…" })
      : g.mode === "placeholder"
        ? t("secrets.words.placeholder", { server, where, hosts: g.hosts.join(", ") || "…", places: places || "…" })
        : t("secrets.words.holds", { server, where }),
    g.tools.length > 0 && t("secrets.words.tools", { tools: g.tools.join(", ") }),
    g.ask && t("secrets.words.ask"),
    g.until && t("secrets.words.until", { time: moment(g.until, locale) }),
  ];
  return `${parts.filter(Boolean).join(", ")}.`;
}

/** placeWords is a place in a request: "the header Authorization". */
export function placeWords(p: { in: string; name: string }, t: Translate): string {
  if (p.in === "query") return t("secrets.place.query", { name: p.name });
  if (p.in === "body") return t("secrets.place.body", { name: p.name });
  return t("secrets.place.header", { name: p.name });
}
