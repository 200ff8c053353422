import { useState } from "react";
import { useLink } from "@/api/events";
import { useAuditTail, useVerify } from "@/api/system";
import type { AuditEvent, Verification } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { CopyCommand } from "@/ui/copy-command";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { EventPanel } from "./event-panel";
import { EventRow } from "./event-row";
import { Scroll } from "@/ui/scroll";

const tail = 200;
const head = "sticky top-0 bg-bg px-2.5 py-[7px] text-left text-sm font-normal text-ink3 shadow-[inset_0_-1px_0_var(--line)]";

/** RecordPage is the end of the audit log, and the button that checks the whole of it. */
export function RecordPage() {
  const t = useT();
  const link = useLink();
  const events = useAuditTail(tail);
  const verify = useVerify();
  const [chosen, setChosen] = useState<AuditEvent>();
  return (
    <Page
      title={t("nav.record")}
      beside={<LiveChip link={link} />}
      actions={
        <Button small disabled={verify.isPending} onClick={() => verify.mutate()}>
          {verify.isPending ? t("record.verifying") : t("record.verify")}
        </Button>
      }
    >
      <div className="flex h-full">
        <div className="flex min-w-0 flex-1 flex-col">
          <div role="status">{verify.data && <Found found={verify.data} />}</div>
          {verify.error && (
            <div className="p-6">
              <Failure told={tell(verify.error)} />
            </div>
          )}
          <Scroll label={t("record.table")} className="min-h-0 flex-1">
            {events.isPending && <Bones rows={12} />}
            {events.isError && !events.data && (
              <div className="p-6">
                <Failure told={tell(events.error)} retry={() => void events.refetch()} />
              </div>
            )}
            {events.data?.length === 0 && <EmptyState title={t("record.empty")} body={t("record.empty.body")} />}
            {events.data && events.data.length > 0 && (
              <>
                <Table events={events.data.toReversed()} chosen={chosen?.seq} choose={setChosen} />
                <div className="flex max-w-[420px] flex-col gap-1.5 px-5 py-5 text-sm text-ink3">
                  {t("record.more")}
                  <CopyCommand command="garita audit tail" />
                </div>
              </>
            )}
          </Scroll>
        </div>
        {chosen && <EventPanel key={chosen.seq} event={chosen} close={() => setChosen(undefined)} />}
      </div>
    </Page>
  );
}

function Found({ found }: { found: Verification }) {
  const t = useT();
  return (
    <div className={`flex items-start gap-2.5 border-b border-line px-5 py-3 ${found.ok ? "bg-ok-bg" : "bg-no-bg"}`}>
      <Icon name={found.ok ? "check" : "warn"} className={`mt-0.5 ${found.ok ? "text-ok" : "text-no"}`} />
      <div>
        <p className={`m-0 font-[600] ${found.ok ? "text-ok" : "text-no"}`}>
          {found.ok ? t("record.ok", { n: found.records }) : t("record.bad", { n: found.bad })}
        </p>
        {found.problem && <Foreign text={found.problem} />}
        {found.notice && <p className="m-0 text-ink2">{found.notice}</p>}
      </div>
    </div>
  );
}

interface TableProps {
  events: AuditEvent[];
  chosen: number | undefined;
  choose: (event: AuditEvent) => void;
}

function Table({ events, chosen, choose }: TableProps) {
  const t = useT();
  return (
    <table aria-label={t("record.table")} className="w-full table-fixed border-separate border-spacing-0">
      <colgroup>
        <col className="w-[84px]" />
        <col className="w-[86px]" />
        <col className="w-[130px]" />
        <col className="w-[150px] max-[900px]:hidden" />
        <col className="w-[96px] max-[900px]:hidden" />
        <col />
        <col className="w-[110px] max-[1100px]:hidden" />
      </colgroup>
      <thead>
        <tr>
          <th scope="col" className={`${head} pl-5`}>
            {t("record.seq")}
          </th>
          <th scope="col" className={head}>
            {t("record.time")}
          </th>
          <th scope="col" className={head}>
            {t("record.kind")}
          </th>
          <th scope="col" className={`${head} max-[900px]:hidden`}>
            {t("record.who")}
          </th>
          <th scope="col" className={`${head} max-[900px]:hidden`}>
            {t("record.server")}
          </th>
          <th scope="col" className={head}>
            {t("record.body")}
          </th>
          <th scope="col" className={`${head} max-[1100px]:hidden`}>
            {t("record.hash")}
          </th>
        </tr>
      </thead>
      <tbody>
        {events.map((e) => (
          <EventRow key={e.seq} event={e} chosen={e.seq === chosen} choose={choose} />
        ))}
      </tbody>
    </table>
  );
}
