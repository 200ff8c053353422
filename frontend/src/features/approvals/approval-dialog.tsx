import { useState } from "react";
import { useAnswer, useApproval } from "@/api/approvals";
import { useT } from "@/lib/i18n";
import { useArmed } from "@/lib/use-armed";
import { tell } from "@/ui/failure";
import { useWatched, Watched } from "@/ui/unseen";
import { Actions } from "./actions";
import { DialogFrame } from "./dialog-frame";
import { Question } from "./question";
import { ScopeChoice } from "./scope-choice";
import { useScope } from "./use-scope";

/** ApprovalDialog puts one question to the person: who wants what, what changes, why it is asked, how
 * far a yes reaches, and last the answer. It shows one request for as long as it is open, whatever
 * becomes of it. */
export function ApprovalDialog({ id, close }: { id: string; close: () => void }) {
  const t = useT();
  const found = useApproval(id);
  const answer = useAnswer();
  const [unfolded, setUnfolded] = useState(false);
  const [unseen, note] = useWatched();
  const [offers, setOffers] = useState(found.data?.approval.offers ?? []);
  const approval = found.data?.approval;
  const open = approval?.state === "pending" && !answer.isPending && !answer.isSuccess;
  // What was offered first stays: times that are offered would move with each look.
  if (offers.length === 0 && approval?.offers?.length) setOffers(approval.offers);
  const scope = useScope(id, offers);
  // Answers are to what stands here: everything of it, what a yes reaches, and whether the arguments are unfolded.
  const content = JSON.stringify([{ ...approval, offers: undefined }, found.data?.raw]);
  const armed = useArmed(open ? `${unfolded} ${JSON.stringify([scope.permit, scope.offer])} ${content}` : undefined);
  const [first, setFirst] = useState<string>();
  if (open && first === undefined) setFirst(content);
  const blocked = scope.permit.scope !== "once" && !scope.offer;

  const send = (approve: boolean) => {
    if (!approval || !armed || !open || (approve && (unseen || blocked))) return;
    answer.mutate({ approval, approve, permit: scope.permit }, { onSuccess: close });
  };

  return (
    <DialogFrame found={found} gone={t("approval.gone")} close={close}>
      {approval && found.data && (
        <>
          <Watched note={note}>
            <Question approval={approval} raw={found.data.raw} input={found.data.input} unfolded={unfolded} unfold={setUnfolded}>
              <ScopeChoice scope={scope} offers={offers} disabled={!open} once={approval.call.tool ? "call" : "other"} />
            </Question>
          </Watched>
          <Actions
            changed={open && first !== undefined && first !== content}
            approval={approval}
            armed={armed}
            unseen={open && unseen}
            blocked={blocked}
            sending={answer.isPending}
            problem={answer.error ? tell(answer.error) : undefined}
            send={send}
          />
        </>
      )}
    </DialogFrame>
  );
}
