import { useMemo, useState, type ReactNode } from "react";
import { useLocale, useT } from "@/lib/i18n";
import { ascii, hosts, scriptsMixed, split } from "@/lib/visible";
import { Segments } from "./foreign";
import { useUnseen } from "./unseen";

const fold = 1200;

const froms = { server: "common.fromServer", agent: "common.fromAgent", daemon: "common.fromDaemon" } as const;

/** ForeignBlock shows hostile text whole: bordered, monospaced, labelled with where it is from.
 * Long text is folded with its length, one click from being whole. */
export function ForeignBlock({ text, from, label }: { text: string; from: "server" | "agent" | "daemon"; label?: ReactNode }) {
  const t = useT();
  const locale = useLocale();
  const [open, setOpen] = useState(false);
  const long = text.length > fold;
  const shown = long && !open ? cut(text) : text;
  const segments = useMemo(() => split(shown, true), [shown]);
  const marks = segments.filter((s) => s.mark).length;
  const mixed = useMemo(() => scriptsMixed(shown), [shown]);
  const looked = useMemo(() => hosts(shown), [shown]);
  useUnseen(long && !open);
  const size = text.length.toLocaleString(locale);
  return (
    <figure className="m-0 overflow-hidden rounded-lg border border-line bg-sunken">
      <figcaption className="flex items-baseline justify-between gap-3 border-b border-line bg-surface px-3 py-1 text-sm">
        <span className="min-w-0 font-mono text-ink2">{label}</span>
        <span className="shrink-0 text-ink3">
          {t(froms[from])} · {t("common.chars", { n: text.length })}
        </span>
      </figcaption>
      <pre className="foreign m-0 px-3 py-2 whitespace-pre-wrap text-ink">
        <Segments segments={segments} />
      </pre>
      {(marks > 0 || mixed.length > 0 || looked.length > 0 || long) && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-3 py-1 text-sm">
          {marks > 0 && <span className="text-no">{t("common.marks", { n: marks })}</span>}
          {mixed.length > 0 && (
            <span className="text-no">
              <bdi>
                {t("common.lookalike", {
                  words: mixed
                    .slice(0, 3)
                    .map((w) => `${w} = ${ascii(w)}`)
                    .join(", "),
                })}
              </bdi>
            </span>
          )}
          {looked.length > 0 && <span className="text-no">{t("common.host", { host: looked.slice(0, 3).join(", ") })}</span>}
          {long && (
            <button
              type="button"
              className="ml-auto text-info hover:underline"
              aria-expanded={open}
              onClick={() => setOpen(!open)}
            >
              {open ? t("common.showLess") : t("common.showAll", { size })}
            </button>
          )}
        </div>
      )}
    </figure>
  );
}

/** cut does not split a surrogate pair. */
function cut(text: string): string {
  const head = text.slice(0, fold);
  return /[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head;
}
