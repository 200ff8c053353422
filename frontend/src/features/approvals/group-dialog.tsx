import { useState } from "react";
import { useAnswerGroup, useApproval } from "@/api/approvals";
import { useT } from "@/lib/i18n";
import { useArmed } from "@/lib/use-armed";
import { tell } from "@/ui/failure";
import { Facts } from "@/ui/facts";
import { Foreign } from "@/ui/foreign";
import { Scroll } from "@/ui/scroll";
import { useWatched, Watched } from "@/ui/unseen";
import { Said } from "@/ui/said";
import { Actions } from "./actions";
import { DialogFrame } from "./dialog-frame";
import { GroupMemberRow } from "./group-member";
import { ClassBadge } from "./question";
import { ScopeChoice } from "./scope-choice";
import { useMembers } from "./use-members";
import { useScope } from "./use-scope";

/** GroupDialog puts several like questions at once: all of them listed, answered together by what was
 * seen of each. Who joins while it is open is shown, and the buttons arm anew. */
export function GroupDialog({ id, close }: { id: string; close: () => void }) {
  const t = useT();
  const { group, members, query } = useMembers(id);
  const answer = useAnswerGroup();
  const [unseen, note] = useWatched();
  const live = members.filter((m) => !m.gone);
  // What is permitted beyond belongs to the first that waits: its offers are what can be said.
  const first = useApproval(live[0]?.id).data?.approval;
  const offers = first?.offers ?? [];
  const scope = useScope(first?.id, offers);
  const open = live.length > 0 && !answer.isPending && !answer.isSuccess;
  const content = JSON.stringify(members.map((m) => [m.id, m.binding, m.gone]));
  const armed = useArmed(open ? `${JSON.stringify([scope.permit, scope.offer])} ${content}` : undefined);
  const [before, setBefore] = useState<string>();
  if (open && before === undefined) setBefore(content);
  const blocked = scope.permit.scope !== "once" && !scope.offer;

  const send = (approve: boolean) => {
    if (!armed || !open || (approve && (unseen || blocked))) return;
    answer.mutate({ members: live, approve, permit: scope.permit }, { onSuccess: close });
  };

  return (
    <DialogFrame
      found={{ ...query, data: members.length > 0 ? members : undefined, isError: query.isError || noneLeft(query, members) }}
      gone={t("approval.gone")}
      close={close}
    >
      {group && (
        <>
          <Watched note={note}>
            <div className="flex min-h-0 flex-auto flex-col overflow-y-auto">
              <div className="shrink-0 border-b border-line py-3.5 pr-12 pl-[22px]">
                <h2 id="approval-title" className="m-0 mb-1 text-xl leading-[1.3] font-[640] tracking-[-0.015em] text-pretty">
                  <Foreign text={group.title} />
                </h2>
                <p className="m-0 text-ink2">
                  <ClassBadge name={group.class} /> {t("group.body", { n: live.length })} {first?.stays}
                </p>
              </div>
              <Scroll label={t("group.members")} className="min-h-24 flex-auto">
                <ul className="m-0 list-none p-0">
                  {members.map((m) => (
                    <GroupMemberRow key={`${m.id} ${m.binding}`} member={m} />
                  ))}
                </ul>
              </Scroll>
              {first && (
                <div className="shrink-0 border-t border-line px-[22px] py-2.5">
                  <Facts
                    facts={[
                      [
                        t("approval.why"),
                        <>
                          <Said text={first.call.reason} /> <Said text={first.call.rule} className="text-ink3" />
                        </>,
                      ],
                      [t("approval.before"), first.before],
                      [t("approval.reaches"), first.reaches],
                    ]}
                  />
                </div>
              )}
              <ScopeChoice scope={scope} offers={offers} disabled={!open} once="calls" />
            </div>
          </Watched>
          <Actions
            approval={{ id, state: live.length > 0 ? "pending" : "withdrawn" }}
            armed={armed}
            unseen={open && unseen}
            blocked={blocked}
            changed={open && before !== undefined && before !== content}
            approveWord={t("group.approve", { n: live.length })}
            denyWord={t("group.deny", { n: live.length })}
            sending={answer.isPending}
            problem={answer.error ? tell(answer.error) : undefined}
            send={send}
          />
        </>
      )}
    </DialogFrame>
  );
}

function noneLeft(query: { isSuccess: boolean }, members: unknown[]): boolean {
  return query.isSuccess && members.length === 0;
}
