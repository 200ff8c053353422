import { useApprovals } from "@/api/approvals";
import { useLink } from "@/api/events";
import { useT } from "@/lib/i18n";
import { cx } from "@/lib/cx";
import { Bones } from "@/ui/bones";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { LiveChip } from "@/ui/live-chip";
import { Mark } from "@/ui/mark";
import { Page } from "@/ui/page";
import { AnsweredList } from "./answered-list";
import { WaitingItem } from "./waiting-item";

/** ApprovalsPage lists what waits for the person, and what was answered lately. Compact, it is
 * all there is. */
export function ApprovalsPage({ compact = false }: { compact?: boolean }) {
  const t = useT();
  const link = useLink();
  const approvals = useApprovals();
  const waiting = approvals.data ?? [];
  return (
    <Page title={t("nav.approvals")} beside={<LiveChip link={link} />} actions={compact && <Mark lit={waiting.length > 0} />}>
      <div className="h-full overflow-y-auto">
        {approvals.isPending && <Bones rows={5} />}
        {approvals.isError && !approvals.data && (
          <div className="p-6">
            <Failure told={tell(approvals.error)} retry={() => void approvals.refetch()} />
          </div>
        )}
        {approvals.data && (
          <div className={cx("mx-auto flex max-w-[860px] flex-col gap-7", compact ? "p-3" : "min-h-full px-6 py-6")}>
            {waiting.length > 0 ? (
              <ul aria-label={t("approvals.list")} className="m-0 flex list-none flex-col gap-2.5 p-0">
                {waiting.map((a) => (
                  <WaitingItem key={a.id} approval={a} />
                ))}
              </ul>
            ) : (
              <div className={compact ? "" : "pt-10"}>
                <EmptyState title={t("approvals.empty")} body={t("approvals.empty.body")} />
              </div>
            )}
            {!compact && <AnsweredList />}
          </div>
        )}
      </div>
    </Page>
  );
}
