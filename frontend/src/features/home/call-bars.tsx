import { useMemo } from "react";
import type { Kind } from "@/api/decision";
import type { Call } from "@/api/types";
import { clock, moment, sameDay } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { cx } from "@/lib/cx";
import { buckets } from "./buckets";

const order: Kind[] = ["refused", "waiting", "you", "other", "read"];
const fills: Record<Kind, string> = {
  read: "bg-ok opacity-70",
  you: "bg-info",
  waiting: "bg-lamp",
  refused: "bg-no",
  other: "bg-ink3 opacity-60",
};
const bars = 48;

/** CallBars is the last calls over time, stacked by decision. */
export function CallBars({ calls }: { calls: Call[] }) {
  const t = useT();
  const locale = useLocale();
  const found = useMemo(() => (calls.length ? buckets(calls, bars) : []), [calls]);
  const highest = Math.max(1, ...found.map((b) => b.total));
  const totals = order.map((k) => ({ kind: k, n: found.reduce((n, b) => n + b.counts[k], 0) })).filter((x) => x.n > 0);
  if (calls.length === 0) return <p className="m-0 text-ink2">{t("home.calls.none")}</p>;
  const when = (ms: number) => (sameDay(new Date(ms), new Date()) ? clock(new Date(ms)) : moment(new Date(ms), locale));
  const summary = totals.map((x) => `${t(`kind.${x.kind}`)} ${x.n}`).join(", ");
  return (
    <div>
      <div
        role="img"
        aria-label={`${t("home.calls.chart")}: ${summary}`}
        className="flex h-[88px] items-end gap-[3px] border-b border-line"
      >
        {found.map((b) => (
          <div
            key={b.from}
            title={b.total ? `${when(b.from)} · ${b.total}` : undefined}
            className="flex min-w-0 flex-1 flex-col gap-px"
            style={{ height: `${(b.total / highest) * 100}%` }}
          >
            {order.map(
              (k) =>
                b.counts[k] > 0 && (
                  <span key={k} className={cx("min-h-[3px] rounded-[2px]", fills[k])} style={{ flexGrow: b.counts[k] }} />
                ),
            )}
          </div>
        ))}
      </div>
      <div className="tabular mt-1.5 flex justify-between text-sm text-ink3">
        <span>{when(found[0]!.from)}</span>
        <span>{when(Date.parse(calls[0]!.at))}</span>
      </div>
      <ul className="tabular m-0 mt-2.5 flex list-none flex-wrap gap-x-5 gap-y-1 p-0">
        {totals.toReversed().map(({ kind, n }) => (
          <li key={kind} className="flex items-center gap-2 text-ink2">
            <span aria-hidden className={cx("size-2.5 rounded-[3px]", fills[kind])} />
            {t(`kind.${kind}`)} <span className="font-[600] text-ink">{n}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
