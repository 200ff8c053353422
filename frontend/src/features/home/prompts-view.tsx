import type { Prompts } from "@/api/types";
import { useLocale, useT } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";

/** PromptsView is how often calls had to be put to the person: attention is a budget. */
export function PromptsView({ prompts }: { prompts: Prompts }) {
  const t = useT();
  const locale = useLocale();
  const number = (n: number) => n.toLocaleString(locale, { maximumFractionDigits: 1 });
  if (prompts.calls === 0) return <p className="m-0 text-ink2">{t("home.calls.none")}</p>;
  return (
    <>
      <p className="m-0 mb-2">
        <strong className="tabular text-xl font-[640]">{number(prompts.per_hundred)}</strong>{" "}
        {t("home.prompts.of", { asked: prompts.asked, calls: prompts.calls })}
      </p>
      <ul className="m-0 flex list-none flex-col gap-1 p-0">
        {prompts.agents.map((a) => (
          <li key={a.agent} className="flex items-center gap-3">
            <Foreign text={a.agent} className="w-[132px] shrink-0 truncate text-ink2" />
            <span aria-hidden className="h-[6px] flex-1 overflow-hidden rounded-full bg-line">
              <span
                className="block h-full origin-left rounded-full bg-info"
                style={{ transform: `scaleX(${Math.min(1, a.per_hundred / 100)})` }}
              />
            </span>
            <span className="tabular w-[150px] shrink-0 text-right whitespace-nowrap text-sm text-ink3">
              {t("home.prompts.agent", { rate: number(a.per_hundred), calls: a.calls })}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
