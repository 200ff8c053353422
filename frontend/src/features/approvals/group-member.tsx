import { useState } from "react";
import { useApproval } from "@/api/approvals";
import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import { Badge } from "@/ui/badge";
import { Bones } from "@/ui/bones";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { Sentence } from "@/ui/sentence";
import { Findings } from "./findings";
import { Subject } from "./subject";
import type { Member } from "./use-members";

/** GroupMemberRow is one question of a group; all of it is one click away. */
export function GroupMemberRow({ member }: { member: Member }) {
  const t = useT();
  const [open, setOpen] = useState(false);
  return (
    <li className={cx("border-b border-line last:border-b-0", member.gone && "text-ink3 line-through")}>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex min-h-[34px] w-full items-center gap-2 px-[22px] py-1.5 text-left hover:bg-hover"
      >
        <Icon name="chevron" size={12} className={cx("text-ink3 transition-transform duration-(--quick)", open && "rotate-90")} />
        <span className="min-w-0 flex-1">
          <Sentence text={member.sentence} />
          {!member.sentence.includes(member.object) && (
            <>
              {" "}
              <Foreign text={member.object} className="font-mono text-sm text-ink2" />
            </>
          )}
        </span>
        <Foreign text={member.tool} className="shrink-0 font-mono text-sm text-ink3" />
        {member.gone && <Badge tone="plain">{t("group.gone")}</Badge>}
        {member.joined && !member.gone && (
          <Badge tone="wait" icon="warn">
            {t("group.joined")}
          </Badge>
        )}
      </button>
      {open && <Whole id={member.id} />}
    </li>
  );
}

function Whole({ id }: { id: string }) {
  const found = useApproval(id);
  if (found.isError) return <Failure told={tell(found.error)} />;
  if (!found.data) return <Bones rows={2} />;
  return (
    <div className="flex flex-col gap-3 px-[22px] pt-1 pb-3 no-underline">
      <Findings findings={found.data.approval.findings ?? []} />
      <Subject approval={found.data.approval} raw={found.data.raw} input={found.data.input} unfolded={false} />
    </div>
  );
}
