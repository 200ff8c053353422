import { useState } from "react";
import type { LiveConnection } from "@/api/types";
import { clock } from "@/lib/format";
import { useT } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { written } from "./rows";

const most = 6;
const head = "py-1 pr-3 text-left text-sm font-normal text-ink3";
const cell = "truncate py-[3px] pr-3 text-sm last:pr-0";

/** Connections are those open now: to whom really, and for whom. */
export function Connections({ live }: { live: LiveConnection[] }) {
  const t = useT();
  const [all, setAll] = useState(false);
  if (live.length === 0) return null;
  const shown = all ? live : live.slice(0, most);
  return (
    <div className="@container border-t border-line px-5 pt-2 pb-3">
      <table className="w-full table-fixed border-collapse">
        <caption className="pt-1 pb-0.5 text-left text-sm text-ink3">{t("network.live", { n: live.length })}</caption>
        <colgroup>
          <col />
          <col className="w-[150px] @max-[480px]:hidden" />
          <col className="w-[140px]" />
          <col className="w-[160px] @max-[720px]:hidden" />
          <col className="w-[72px]" />
        </colgroup>
        <thead className="sr-only">
          <tr>
            <th scope="col" className={head}>
              {t("network.live.host")}
            </th>
            <th scope="col" className={`${head} @max-[480px]:hidden`}>
              {t("network.live.address")}
            </th>
            <th scope="col" className={head}>
              {t("network.live.agent")}
            </th>
            <th scope="col" className={`${head} @max-[720px]:hidden`}>
              {t("network.live.session")}
            </th>
            <th scope="col" className={head}>
              {t("network.live.since")}
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((c) => (
            <tr key={`${c.sandbox} ${c.id}`}>
              <td className={cell}>
                <Foreign text={written(c.host, c.port)} className="font-mono text-sm" />
              </td>
              <td className={`${cell} font-mono text-sm text-ink2 @max-[480px]:hidden`}>{c.address}</td>
              <td className={`${cell} text-ink2`}>
                <Foreign text={c.agent} />
              </td>
              <td className={`${cell} @max-[720px]:hidden`}>
                <code className="text-ink3">{c.session}</code>
              </td>
              <td className={`${cell} tabular text-right font-mono text-sm text-ink3`}>{clock(c.opened)}</td>
            </tr>
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
