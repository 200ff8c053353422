import { useT } from "@/lib/i18n";
import { Button } from "./button";
import { CopyCommand } from "./copy-command";
import { Foreign } from "./foreign";
import { Icon } from "./icon";

/** Told is what an error says to a person: what, why, and what to do. */
export interface Told {
  title: string;
  detail?: string | undefined;
  next?: string | undefined;
}

const isCommand = /^(garita|sudo|\.\/|systemctl|curl)\b/;

/** Failure is a page or part that could not be loaded, or a deed that was refused. */
export function Failure({ told, retry, heading }: { told: Told; retry?: () => void; heading?: string }) {
  const t = useT();
  return (
    <section role="alert" className="mx-auto flex max-w-[520px] flex-col gap-2 rounded-xl border border-line bg-surface p-5">
      <h2 className="m-0 flex items-center gap-2 text-lg font-[620] tracking-[-0.01em]">
        <Icon name="warn" className="text-no" />
        {heading ?? t("error.title")}
      </h2>
      <p className="m-0 text-ink2">
        <Foreign text={told.title} />
        {told.detail && (
          <>
            : <Foreign text={told.detail} />
          </>
        )}
      </p>
      {told.next && (
        <div className="mt-1 flex flex-col gap-1.5">
          <span className="text-sm text-ink3">{t("error.next")}</span>
          {isCommand.test(told.next) ? <CopyCommand command={told.next} /> : <span>{told.next}</span>}
        </div>
      )}
      {retry && (
        <div className="mt-1">
          <Button small onClick={retry}>
            {t("common.retry")}
          </Button>
        </div>
      )}
    </section>
  );
}

/** tell makes an error of whatever kind readable. Refusals of the daemon carry a problem. */
export function tell(err: unknown): Told {
  if (err instanceof Error && "problem" in err) return err.problem as Told;
  return { title: err instanceof Error ? err.message : String(err) };
}
