import type { PolicyRule } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { EffectBadge } from "./effect-badge";

interface Props {
  label: string;
  rules: PolicyRule[];
  warnings?: { origin: string; text: string }[];
  numbered?: boolean;
}

/** RuleList is rules in their order, each in one sentence with where it stands. */
export function RuleList({ label, rules, warnings = [], numbered }: Props) {
  return (
    <ol aria-label={label} className="m-0 flex list-none flex-col p-0">
      {rules.map((r, i) => (
        <RuleRow
          key={`${r.origin} ${i}`}
          rule={r}
          at={numbered ? i + 1 : undefined}
          warning={warnings.find((w) => w.origin === r.origin)?.text}
        />
      ))}
    </ol>
  );
}

function RuleRow({ rule, at, warning }: { rule: PolicyRule; at: number | undefined; warning: string | undefined }) {
  const t = useT();
  return (
    <li className="flex items-start gap-3 border-b border-line py-2.5 last:border-b-0">
      {at !== undefined && <span className="tabular w-5 shrink-0 text-right text-ink3">{at}</span>}
      <span className="w-[88px] shrink-0">
        <EffectBadge effect={rule.effect} />
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-0.5">
        {rule.name && (
          <strong className="font-[600]">
            <Foreign text={rule.name} />
          </strong>
        )}
        <Foreign text={rule.words} className="text-pretty" />
        {rule.reason && (
          <span className="text-ink2">
            “<Foreign text={rule.reason} />”
          </span>
        )}
        {rule.covers_risk && <span className="text-sm text-no">{t("policy.coversRisk")}</span>}
        {warning && <Foreign text={warning} className="text-sm text-no" />}
      </div>
      <code className="max-w-[190px] shrink-0 text-right text-ink3">
        <Foreign text={rule.origin} />
      </code>
    </li>
  );
}
