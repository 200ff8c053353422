import { useExpired, useSeeExpired } from "@/api/approvals";
import { clock, moment } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { Button } from "@/ui/button";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { Sentence } from "@/ui/sentence";

/** ExpiredList is the questions that ended unanswered while nobody looked, until the person has seen them. */
export function ExpiredList() {
  const t = useT();
  const locale = useLocale();
  const expired = useExpired().data ?? [];
  const see = useSeeExpired();
  if (expired.length === 0) return null;
  return (
    <section
      aria-label={t("expired.title", { n: expired.length })}
      className="rounded-xl border border-line bg-surface px-4 py-3"
    >
      <div className="flex items-center gap-3">
        <Icon name="clock" className="text-ink3" />
        <h2 className="m-0 flex-1 text-md font-[600]">{t("expired.title", { n: expired.length })}</h2>
        <Button small disabled={see.isPending} onClick={() => see.mutate(expired.map((a) => a.id))}>
          {t("expired.seen")}
        </Button>
      </div>
      <p className="m-0 mt-0.5 mb-1.5 text-ink2">{t("expired.body")}</p>
      <ul className="m-0 list-none p-0">
        {expired.map((a) => (
          <li key={a.id} className="flex min-h-[30px] items-center gap-3 border-t border-line">
            <time dateTime={a.expires} title={moment(a.expires, locale)} className="w-16 shrink-0 font-mono text-sm text-ink3">
              {clock(a.expires)}
            </time>
            <span className="min-w-0 flex-1 truncate">
              <Foreign text={a.call.agent} className="text-ink2" /> · <Sentence text={a.call.sentence} />
            </span>
            <Foreign text={a.call.server} className="shrink-0 text-sm text-ink3" />
          </li>
        ))}
      </ul>
    </section>
  );
}
