import type { Explanation } from "@/api/types";
import { useT, type Key } from "@/lib/i18n";
import { Facts } from "@/ui/facts";
import { Foreign } from "@/ui/foreign";
import { Said } from "@/ui/said";
import { EffectBadge } from "./effect-badge";

/** ExplanationView is which rule decides about a call, why, and which came near. */
export function ExplanationView({ explanation: e }: { explanation: Explanation }) {
  const t = useT();
  return (
    <section aria-label={t("explain.answer")} className="flex flex-col gap-3 rounded-xl border border-line bg-surface px-5 py-4">
      <h2 className="m-0 flex flex-wrap items-center gap-2.5 text-md font-[600]">
        <EffectBadge effect={e.effect} />
        <span>
          <Foreign text={e.tool} className="font-mono text-sm" /> · <Foreign text={e.server} />
          {e.agent && (
            <>
              {" "}
              <span className="font-normal text-ink2">{t("explain.by", { agent: e.agent })}</span>
            </>
          )}
        </span>
      </h2>
      <Facts
        facts={[
          [t("explain.decided"), <Foreign key="d" text={e.decided} />],
          [t("call.why"), <Said key="w" text={e.reason} />],
          [
            t("call.class"),
            <>
              {t(`class.${e.class}` as Key)} · <Foreign text={e.class_why} className="text-ink2" />
            </>,
          ],
          [t("finding.sensitive"), e.sensitive && <Foreign text={e.sensitive} />],
          [t("explain.was"), e.was && <Was was={e.was} />],
        ]}
      />
      {e.near.length > 0 && (
        <div>
          <h3 className="m-0 mb-1 text-sm font-normal text-ink3">{t("explain.near")}</h3>
          <ul className="m-0 flex list-none flex-col gap-1.5 p-0">
            {e.near.map((n) => (
              <li key={n.rule.origin}>
                {n.rule.name && <Foreign text={n.rule.name} className="block font-[600]" />}
                <code className="text-ink3">{n.rule.origin}</code> <Foreign text={n.rule.words} />
                <Foreign text={n.why} className="block text-ink2" />
              </li>
            ))}
          </ul>
        </div>
      )}
      {e.notes.map((n) => (
        <p key={n} className="m-0 text-sm text-ink2">
          <Foreign text={n} />
        </p>
      ))}
    </section>
  );
}

function Was({ was }: { was: NonNullable<Explanation["was"]> }) {
  return (
    <>
      <EffectBadge effect={was.effect} /> <Foreign text={was.rule} className="text-ink2" />
    </>
  );
}
