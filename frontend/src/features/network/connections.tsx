import { useState } from "react";
import type { LiveConnection } from "@/api/types";
import { cx } from "@/lib/cx";
import { bytes, clock, took } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { useNow } from "@/lib/use-now";
import { Foreign } from "@/ui/foreign";
import { written } from "./rows";
import { liveKey, useRates } from "./use-rates";

const most = 6;
const head = "py-1 pr-3 text-left text-sm font-normal text-ink3";
const cell = "truncate py-[3px] pr-3 text-sm last:pr-0";

/** Connections are those open now: to whom really, for whom, since when, and how much passes. */
export function Connections({ live }: { live: LiveConnection[] }) {
  const t = useT();
  const [all, setAll] = useState(false);
  const rates = useRates(live);
  if (live.length === 0) return null;
  const shown = all ? live : live.slice(0, most);
  return (
    <div className="@container border-t border-line px-5 pt-2 pb-3 max-[480px]:px-4">
      <table className="w-full table-fixed border-collapse">
        <caption className="pt-1 pb-0.5 text-left text-sm text-ink3">{t("network.live", { n: live.length })}</caption>
        <colgroup>
          <col />
          <col className="w-[150px] @max-[720px]:hidden" />
          <col className="w-[120px] @max-[480px]:hidden" />
          <col className="w-[84px]" />
          <col className="w-[84px]" />
          <col className="w-[96px] @max-[560px]:hidden" />
          <col className="w-[96px] @max-[400px]:hidden" />
        </colgroup>
        <thead>
          <tr>
            <Head>{t("network.live.host")}</Head>
            <Head className="@max-[720px]:hidden">{t("network.live.address")}</Head>
            <Head className="@max-[480px]:hidden">{t("network.live.agent")}</Head>
            <Head className="text-right">{t("network.live.sent")}</Head>
            <Head className="text-right">{t("network.live.received")}</Head>
            <Head className="text-right @max-[560px]:hidden">{t("network.live.rate")}</Head>
            <Head className="pr-0 text-right @max-[400px]:hidden">{t("network.live.since")}</Head>
          </tr>
        </thead>
        <tbody>
          {shown.map((c) => (
            <Row key={liveKey(c)} c={c} rate={rates.get(liveKey(c)) ?? 0} />
          ))}
        </tbody>
      </table>
      {live.length > most && (
        <button type="button" aria-expanded={all} onClick={() => setAll(!all)} className="mt-1 text-sm text-info hover:underline">
          {all ? t("common.showLess") : t("network.live.more", { n: live.length - most })}
        </button>
      )}
    </div>
  );
}

function Head({ children, className }: { children: string; className?: string }) {
  return (
    <th scope="col" className={cx(head, className)}>
      {children}
    </th>
  );
}

function Row({ c, rate }: { c: LiveConnection; rate: number }) {
  const t = useT();
  const locale = useLocale();
  const now = useNow(5000);
  const number = `${cell} tabular text-right font-mono text-sm`;
  return (
    <tr>
      <td className={cell}>
        <Foreign text={written(c.host, c.port)} className="font-mono text-sm" />
      </td>
      <td className={`${cell} font-mono text-sm text-ink2 @max-[720px]:hidden`}>{c.address}</td>
      <td className={`${cell} text-ink2 @max-[480px]:hidden`}>
        <Foreign text={c.agent} />
      </td>
      <td className={`${number} text-ink2`}>{bytes(c.sent, locale)}</td>
      <td className={`${number} text-ink2`}>{bytes(c.received, locale)}</td>
      <td className={cx(number, rate > 0 ? "text-ok" : "text-ink3", "@max-[560px]:hidden")}>
        {rate > 0 ? t("network.live.perSecond", { size: bytes(Math.round(rate), locale) }) : t("network.live.quiet")}
      </td>
      <td className={`${number} text-ink3 @max-[400px]:hidden`} title={clock(c.opened)}>
        {took(Math.max(1000, Math.round(Math.max(0, now - Date.parse(c.opened)) / 1000) * 1000))}
      </td>
    </tr>
  );
}
