import { Link } from "@tanstack/react-router";
import type { ApprovalGroup } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Badge } from "@/ui/badge";
import { Foreign } from "@/ui/foreign";
import { Sentence } from "@/ui/sentence";

/** WaitingGroup is several like questions as one: every one of them is listed. */
export function WaitingGroup({ group }: { group: ApprovalGroup }) {
  const t = useT();
  return (
    <li className="relative flex items-start gap-4 rounded-xl border border-wait-line bg-wait-bg px-4 py-3.5 has-[a:focus-visible]:outline-2 has-[a:focus-visible]:outline-focus">
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <h2 className="m-0 text-md font-[600] tracking-[-0.005em]">
          <Foreign text={group.title} />
        </h2>
        <ul aria-label={t("group.members")} className="m-0 flex max-h-[148px] list-none flex-col overflow-y-auto p-0 text-ink2">
          {group.members.map((m) => (
            <li key={m.id} className="truncate">
              <Sentence text={m.sentence} />
            </li>
          ))}
        </ul>
        <p className="m-0 pt-0.5 text-sm">
          <Badge tone="wait">{t("group.together", { n: group.members.length })}</Badge>
        </p>
      </div>
      <Link
        to="."
        search={(s) => ({ ...s, group: group.members[0]!.id })}
        aria-label={`${t("approvals.review")}: ${group.title}`}
        className="rounded-lg border border-line2 bg-raised px-4 py-[7px] font-[580] text-ink no-underline outline-none after:absolute after:inset-0 hover:border-ink3"
      >
        {t("approvals.review")}
      </Link>
    </li>
  );
}
