import { useAcceptObservation } from "@/api/observe";
import type { LeastSpec } from "@/api/types";
import { useT } from "@/lib/i18n";
import { useArmed } from "@/lib/use-armed";
import { visible } from "@/lib/visible";
import { AskDialog } from "@/ui/ask-dialog";
import { Diff } from "@/ui/diff";
import { Scroll } from "@/ui/scroll";

interface Props {
  server: string;
  least: LeastSpec;
  close: () => void;
}

/** AcceptDialog shows the very change of servers.yaml before it is made, and asks once. */
export function AcceptDialog({ server, least, close }: Props) {
  const t = useT();
  const accept = useAcceptObservation(server);
  const armed = useArmed(accept.isPending || accept.isSuccess ? undefined : least.binding);
  return (
    <AskDialog
      className="w-[680px]"
      title={t("observe.confirm", { server: visible(server) })}
      body={t("observe.confirm.body")}
      keep={t("observe.confirm.keep")}
      act={t("observe.accept")}
      look="primary"
      disabled={!armed}
      error={accept.error}
      run={() => least.binding && accept.mutate(least.binding, { onSuccess: close })}
      close={close}
    >
      <Scroll label={t("observe.diff")} className="max-h-[44vh]">
        <Diff path="servers.yaml" unified={least.diff ?? ""} />
      </Scroll>
    </AskDialog>
  );
}
