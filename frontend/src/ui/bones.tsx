import { useT } from "@/lib/i18n";

const widths = ["w-[62%]", "w-[38%]", "w-[51%]", "w-[74%]", "w-[45%]", "w-[57%]"];

/** Bones are rows that are on their way. */
export function Bones({ rows = 8 }: { rows?: number }) {
  const t = useT();
  return (
    <div role="status" aria-label={t("common.loading")} className="flex flex-col">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="flex h-[34px] items-center gap-6 border-b border-line px-4">
          <span className="bone h-2.5 w-14" />
          <span className="bone h-2.5 w-24" />
          <span className="flex-1">
            <span className={`bone block h-2.5 ${widths[i % widths.length]}`} />
          </span>
          <span className="bone h-2.5 w-20" />
        </div>
      ))}
    </div>
  );
}
