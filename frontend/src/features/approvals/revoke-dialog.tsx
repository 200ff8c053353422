import { useEffect, useRef } from "react";
import { useRevoke } from "@/api/grants";
import type { Grant } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";

/** RevokeDialog says what ends before it ends. Focus rests on keeping it. */
export function RevokeDialog({ grant, close }: { grant: Grant; close: () => void }) {
  const t = useT();
  const revoke = useRevoke();
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <Dialog labelledBy="revoke-title" close={close} className="w-[480px]">
      <div className="px-[22px] pt-5 pb-2">
        <h2 id="revoke-title" className="m-0 mb-1 text-xl font-[640] tracking-[-0.015em]">
          {t("grants.confirm")}
        </h2>
        <p className="m-0 text-ink2">
          <Foreign text={grant.agent} /> {t("grants.may")} <Foreign text={grant.words} />. {t("grants.confirm.body")}
        </p>
      </div>
      {revoke.error && (
        <div className="px-[22px] py-2">
          <Failure told={tell(revoke.error)} />
        </div>
      )}
      <div className="flex justify-end gap-2 px-[22px] pt-3 pb-4">
        <Button ref={keep} onClick={close}>
          {t("grants.keep")}
        </Button>
        <Button look="danger" disabled={revoke.isPending} onClick={() => revoke.mutate(grant.id, { onSuccess: close })}>
          {t("grants.revoke")}
        </Button>
      </div>
    </Dialog>
  );
}
