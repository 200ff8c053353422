import type { Progress } from "@/api/types";
import { useT } from "@/lib/i18n";
import { cx } from "@/lib/cx";
import { Foreign } from "@/ui/foreign";

/** ProgressRow is long work under way: what it does, how far it is. */
export function ProgressRow({ progress }: { progress: Progress }) {
  const t = useT();
  const known = progress.total > 0;
  const part = known ? Math.min(1, progress.done / progress.total) : 0;
  return (
    <div className="flex flex-col gap-1.5">
      <div className={cx("flex justify-between gap-3 text-sm", progress.failed ? "text-no" : "text-ink2")}>
        <Foreign text={progress.message || progress.step} className="min-w-0 truncate" />
        {known && (
          <span className="tabular text-ink3">{t("servers.progress", { done: progress.done, total: progress.total })}</span>
        )}
      </div>
      <div
        role="progressbar"
        aria-label={`${progress.server}: ${progress.step}`}
        aria-valuemin={0}
        aria-valuemax={known ? progress.total : undefined}
        aria-valuenow={known ? progress.done : undefined}
        className="h-[3px] overflow-hidden rounded-full bg-line"
      >
        <div
          className={cx(
            "h-full origin-left rounded-full transition-transform duration-300",
            progress.failed ? "bg-no" : "bg-info",
            !known && "bone w-full",
          )}
          style={known ? { transform: `scaleX(${part})` } : undefined}
        />
      </div>
    </div>
  );
}
