import { useState } from "react";
import { useChooseMounts, useForgetObservation } from "@/api/observe";
import type { LeastLine, Observation } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Button } from "@/ui/button";
import { Diff } from "@/ui/diff";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { AcceptDialog } from "./accept-dialog";
import { LeastLines } from "./least-lines";
import { Notes } from "./notes";
import { Timeline } from "./timeline";

/** ProposalView is the least a server needs, by what was seen: line by line with why, then as the change of
 * servers.yaml that it is. Nothing of it counts before it is accepted. */
export function ProposalView({ observation: o }: { observation: Observation }) {
  const t = useT();
  const choose = useChooseMounts(o.server);
  const forget = useForgetObservation(o.server);
  const [asking, setAsking] = useState(false);
  const least = o.proposal;
  if (!least) return null;
  const nothing = !least.binding;
  const chosen = least.lines.filter((l) => l.mount && l.change === "add").map((l) => l.mount!);
  const toggle = (line: LeastLine) => {
    const mount = line.mount!;
    choose.mutate(chosen.includes(mount) ? chosen.filter((m) => m !== mount) : [...chosen, mount]);
  };
  const error = choose.error ?? forget.error;
  return (
    <>
      <section className="rounded-xl border border-line bg-surface">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-5 py-3.5 max-[480px]:px-4">
          <div className="min-w-[220px] flex-1">
            <h2 className="m-0 text-lg font-[620] tracking-[-0.01em] text-pretty">
              <Foreign text={t(nothing ? "observe.least.same" : "observe.least", { server: o.server })} />
            </h2>
            <p className="m-0 text-pretty text-ink2">{t(nothing ? "observe.least.same.body" : "observe.least.body")}</p>
          </div>
          <div className="flex flex-wrap gap-2">
            <Button disabled={forget.isPending} onClick={() => forget.mutate()}>
              {t("observe.leave")}
            </Button>
            {!nothing && (
              <Button look="primary" disabled={choose.isPending} onClick={() => setAsking(true)}>
                {t("observe.accept")}
              </Button>
            )}
          </div>
        </div>
        <LeastLines lines={least.lines} busy={choose.isPending} toggle={toggle} />
      </section>
      {error && <Failure told={tell(error)} heading={t("error.refused")} />}
      <Notes notes={[...o.notes, ...least.notes]} />
      {least.diff && (
        <section aria-label={t("observe.diff")}>
          <h3 className="m-0 mb-1.5 text-sm font-normal text-ink3">{t("observe.diff")}</h3>
          <Diff path="servers.yaml" unified={least.diff} />
        </section>
      )}
      <Timeline seen={o.seen} since={Date.parse(o.since ?? "") || 0} until={Date.parse(o.ended ?? "") || 0} />
      {asking && <AcceptDialog server={o.server} least={least} close={() => setAsking(false)} />}
    </>
  );
}
