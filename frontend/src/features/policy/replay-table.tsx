import { Link } from "@tanstack/react-router";
import type { Replay } from "@/api/types";
import { moment } from "@/lib/format";
import { useLocale, useT, type Key } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { Sentence } from "@/ui/sentence";
import { EffectBadge } from "./effect-badge";

/** ReplayTable is how many calls would have been decided otherwise, and which. */
export function ReplayTable({ replay }: { replay: Replay }) {
  const t = useT();
  return (
    <section aria-label={t("replay.result")} className="flex flex-col gap-3">
      <h2 className="m-0 text-md font-[600]">
        {replay.counts.length === 0
          ? t("replay.nothing", { n: replay.calls })
          : t("replay.sum", { same: replay.same, calls: replay.calls })}
      </h2>
      <ul className="m-0 flex list-none flex-wrap gap-x-5 gap-y-1 p-0">
        {replay.counts.map((c) => (
          <li key={`${c.was} ${c.now}`} className="flex items-center gap-1.5">
            <strong className="tabular font-[620]">{c.calls}</strong>
            <EffectBadge effect={c.was} />
            <span aria-hidden>→</span>
            <span className="sr-only">{t("replay.becomes")}</span>
            <EffectBadge effect={c.now} />
          </li>
        ))}
      </ul>
      {replay.unsure > 0 && <p className="m-0 text-ink2">{t("replay.unsure", { n: replay.unsure })}</p>}
      {replay.apart > 0 && <p className="m-0 text-ink2">{t("replay.apart", { n: replay.apart })}</p>}
      <ul aria-label={t("replay.changes")} className="m-0 list-none p-0">
        {replay.changes.map((c) => (
          <Change key={c.call} change={c} />
        ))}
      </ul>
    </section>
  );
}

function Change({ change: c }: { change: Replay["changes"][number] }) {
  const t = useT();
  const locale = useLocale();
  return (
    <li className="flex flex-col gap-0.5 border-b border-line py-2">
      <span className="flex flex-wrap items-center gap-2">
        <Link to="/calls" search={{ call: c.call }} className="min-w-0 flex-1 text-ink no-underline hover:underline">
          <Foreign text={c.agent} className="text-ink2" /> · <Foreign text={c.server} className="text-ink2" /> ·{" "}
          <Sentence text={c.sentence} />
        </Link>
        <EffectBadge effect={c.was} />
        <span aria-hidden>→</span>
        <span className="sr-only">{t("replay.becomes")}</span>
        <EffectBadge effect={c.now} />
      </span>
      <span className="text-sm text-ink3">
        {moment(c.at, locale)} · <Foreign text={c.was_by} />
        {c.answer && ` (${t(`answer.${c.answer}` as Key)})`} → <Foreign text={c.now_by} />
      </span>
      {c.unsure && <Foreign text={c.unsure} className="text-sm text-no" />}
    </li>
  );
}
