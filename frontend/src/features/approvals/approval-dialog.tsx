import { useState } from "react";
import { useAnswer, useApproval } from "@/api/approvals";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { Dialog } from "@/ui/dialog";
import { Failure, tell } from "@/ui/failure";
import { Icon } from "@/ui/icon";
import { Actions } from "./actions";
import { Question } from "./question";
import { useArmed } from "./use-armed";

/** ApprovalDialog puts one question to the person: who wants what, what changes, why it is asked,
 * and last the answer. It shows one request for as long as it is open, whatever becomes of it. */
export function ApprovalDialog({ id, close }: { id: string; close: () => void }) {
  const t = useT();
  const found = useApproval(id);
  const answer = useAnswer();
  const [unfolded, setUnfolded] = useState(false);
  const approval = found.data?.approval;
  const open = approval?.state === "pending" && !answer.isPending && !answer.isSuccess;
  // Answers are to what stands here: everything of it, and whether the arguments are unfolded.
  const content = JSON.stringify([approval, found.data?.raw]);
  const armed = useArmed(open ? `${unfolded} ${content}` : undefined);
  const [first, setFirst] = useState<string>();
  if (open && first === undefined) setFirst(content);

  const send = (approve: boolean) => {
    if (!approval || !armed || !open) return;
    answer.mutate({ approval, approve }, { onSuccess: close });
  };

  return (
    <Dialog labelledBy="approval-title" close={close}>
      <button
        type="button"
        aria-label={t("common.close")}
        onClick={close}
        className="absolute top-3 right-3 z-10 rounded-md p-1.5 text-ink3 hover:bg-hover hover:text-ink"
      >
        <Icon name="close" />
      </button>
      {approval && found.data ? (
        <>
          <Question approval={approval} raw={found.data.raw} unfolded={unfolded} unfold={setUnfolded} />
          <Actions
            changed={open && first !== undefined && first !== content}
            approval={approval}
            armed={armed}
            sending={answer.isPending}
            problem={answer.error ? tell(answer.error) : undefined}
            send={send}
          />
        </>
      ) : (
        <>
          <h2 id="approval-title" className="m-0 px-5 pt-5 pb-3 text-xl font-[640]">
            {found.isError ? t("approval.gone") : t("common.loading")}
          </h2>
          {found.isError ? (
            <div className="p-5">
              <Failure told={tell(found.error)} retry={() => void found.refetch()} />
            </div>
          ) : (
            <Bones rows={6} />
          )}
        </>
      )}
    </Dialog>
  );
}
