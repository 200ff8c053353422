import { Link } from "@tanstack/react-router";
import { useApprovals } from "@/api/approvals";
import { useEndObservation } from "@/api/observe";
import type { Observation } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import { useNow } from "@/lib/use-now";
import { Button } from "@/ui/button";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { Said } from "@/ui/said";
import { Notes } from "./notes";
import { Timeline } from "./timeline";

/** WatchView is what a server does while it is watched, and what waits for an answer meanwhile. */
export function WatchView({ observation: o }: { observation: Observation }) {
  const t = useT();
  const end = useEndObservation(o.server);
  const now = useNow(1000);
  const since = Date.parse(o.since ?? "") || now;
  const until = Date.parse(o.until ?? "") || now;
  const left = Math.max(0, Math.ceil((until - now) / 60_000));
  const part = Math.min(1, Math.max(0, (now - since) / Math.max(1, until - since)));
  return (
    <>
      <section className="overflow-hidden rounded-xl border border-line bg-surface">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-5 py-3.5 max-[480px]:px-4">
          <span className="grid size-8 shrink-0 place-items-center rounded-full bg-info-bg text-info">
            <Icon name="eye" />
          </span>
          <div className="min-w-[220px] flex-1">
            <h2 className="m-0 text-lg font-[620] tracking-[-0.01em]">
              <Foreign text={t("observe.watching", { server: o.server })} />
            </h2>
            <p className="m-0 text-pretty text-ink2">
              {t("observe.watching.body")} <span className="tabular">{t("observe.left", { n: left })}</span>
            </p>
          </div>
          <Button disabled={end.isPending} onClick={() => end.mutate(undefined as never)}>
            {t(end.isPending ? "observe.ending" : "observe.end")}
          </Button>
        </div>
        <div aria-hidden className="h-[3px] bg-line">
          <div className="h-full bg-info" style={{ width: `${part * 100}%` }} />
        </div>
      </section>
      {end.error && <Failure told={tell(end.error)} heading={t("error.refused")} />}
      <Waiting server={o.server} />
      <Notes notes={o.notes} />
      <Timeline seen={o.seen} since={since} until={now} live />
    </>
  );
}

/** Waiting is the question of this server that waits longest: nothing goes on before it is answered. The place
 * is kept while there is none, so that what stands below does not move. */
function Waiting({ server }: { server: string }) {
  const t = useT();
  const waits = (useApprovals().data ?? []).filter((a) => a.call.server === server);
  const next = waits[0];
  return (
    <section
      aria-label={t("observe.waits")}
      className={cx(
        "flex min-h-[50px] items-center gap-3 rounded-xl border px-5 py-2 max-[480px]:px-4",
        next ? "border-wait-line bg-wait-bg" : "border-line bg-surface",
      )}
    >
      {next ? (
        <>
          <span className="min-w-0 flex-1 truncate">
            <Said text={next.title} className="font-[550]" />
          </span>
          {waits.length > 1 && (
            <Link to="/approvals" className="tabular shrink-0 text-sm text-info no-underline hover:underline">
              {t("home.more", { n: waits.length - 1 })}
            </Link>
          )}
          <Link
            to="."
            search={(s) => ({ ...s, review: next.id })}
            aria-label={`${t("home.review")}: ${next.title}`}
            className="shrink-0 rounded-lg border border-line2 bg-raised px-3 py-1 text-sm font-[580] text-ink no-underline hover:border-ink3"
          >
            {t("home.review")}
          </Link>
        </>
      ) : (
        <span className="text-ink2">{t("observe.waits.none")}</span>
      )}
    </section>
  );
}
