import { useApprovals, useGroups } from "@/api/approvals";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { AnsweredList } from "./answered-list";
import { ExpiredList } from "./expired-list";
import { WaitingGroup } from "./waiting-group";
import { WaitingItem } from "./waiting-item";

/** WaitingList is what waits for the person, like questions as one, what ended unseen, and what was
 * answered lately. */
export function WaitingList({ compact }: { compact: boolean }) {
  const t = useT();
  const approvals = useApprovals();
  const groups = useGroups().data ?? [];
  const waiting = approvals.data ?? [];
  const grouped = new Set(groups.flatMap((g) => g.members.map((m) => m.id)));
  if (approvals.isPending) return <Bones rows={5} />;
  if (!approvals.data) return <Failure told={tell(approvals.error)} retry={() => void approvals.refetch()} />;
  return (
    <>
      {waiting.length > 0 ? (
        <ul aria-label={t("approvals.list")} className="m-0 flex list-none flex-col gap-2.5 p-0">
          {groups.map((g) => (
            <WaitingGroup key={g.id} group={g} />
          ))}
          {waiting
            .filter((a) => !grouped.has(a.id))
            .map((a) => (
              <WaitingItem key={a.id} approval={a} />
            ))}
        </ul>
      ) : (
        <div className={compact ? "" : "pt-10"}>
          <EmptyState title={t("approvals.empty")} body={t("approvals.empty.body")} />
        </div>
      )}
      <ExpiredList />
      {!compact && <AnsweredList />}
    </>
  );
}
