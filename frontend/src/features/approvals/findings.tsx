import type { Finding } from "@/api/types";
import { useT, type Key } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";

const names: Record<string, Key> = {
  doubt: "finding.doubt",
  sensitive: "finding.sensitive",
  arguments: "finding.arguments",
};

/** Findings is what to look at before a yes. */
export function Findings({ findings }: { findings: Finding[] }) {
  const t = useT();
  if (findings.length === 0) return null;
  return (
    <ul
      aria-label={t("approval.findings")}
      className="m-0 flex shrink-0 list-none flex-col gap-1 border-b border-line bg-no-bg px-[22px] py-2.5"
    >
      {findings.map((f) => (
        <li key={f.kind} className="flex gap-2">
          <Icon name="warn" size={14} className="mt-0.5 text-no" />
          <span className="min-w-0">
            <strong className="font-[620] text-no">{t(names[f.kind] ?? "finding.other")}</strong> <Foreign text={f.text} />
          </span>
        </li>
      ))}
    </ul>
  );
}
