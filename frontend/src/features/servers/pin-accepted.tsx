import type { PinItem } from "@/api/types";
import { moment } from "@/lib/format";
import { useLocale, useT, type Key } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";

/** PinAccepted is one thing that exists for clients, in a line; that it is only written otherwise now is
 * a quiet remark. */
export function PinAccepted({ item }: { item: PinItem }) {
  const t = useT();
  const locale = useLocale();
  return (
    <li className="flex flex-wrap items-baseline gap-x-2">
      <span className="w-[88px] shrink-0 text-ink3">{t(`pins.kind.${item.kind}` as Key)}</span>
      <Foreign text={item.name} className="min-w-0 flex-1 font-mono text-sm" />
      {item.accepted && (
        <span className="text-sm text-ink3">{t("pins.by", { time: moment(item.accepted, locale), who: item.by ?? "" })}</span>
      )}
      {item.state === "cosmetic" && (
        <span className="w-full pl-[96px] text-sm text-ink3">
          {t("pins.cosmetic")}{" "}
          {item.fields.map((f) => (
            <span key={f.field}>
              “<Foreign text={f.old} />” → “<Foreign text={f.new} />”{" "}
            </span>
          ))}
        </span>
      )}
      {item.findings.map((f, i) => (
        <span key={i} className="w-full pl-[96px] text-sm text-ink2">
          <Foreign text={f.why} />: <Foreign text={f.excerpt} className="font-mono" />
        </span>
      ))}
    </li>
  );
}
