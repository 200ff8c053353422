import { useChangeNetwork } from "@/api/network";
import { useT } from "@/lib/i18n";
import { useArmed } from "@/lib/use-armed";
import { visible } from "@/lib/visible";
import { AskDialog } from "@/ui/ask-dialog";
import { ForeignBlock } from "@/ui/foreign-block";
import { inWords } from "./words";

interface Props {
  server: string;
  rule: string;
  close: (done: boolean) => void;
}

/** AllowDialog shows the very rule that allows a host before it is made, and asks once. */
export function AllowDialog({ server, rule, close }: Props) {
  const t = useT();
  const change = useChangeNetwork(server);
  const armed = useArmed(change.isPending ? undefined : `${server} ${rule}`);
  return (
    <AskDialog
      title={t("network.confirm", { server: visible(server) })}
      body={t("network.confirm.body", { server: visible(server) })}
      keep={t("network.keep")}
      act={t("network.allow")}
      look="primary"
      disabled={!armed}
      error={change.error}
      run={() => change.mutate({ host: rule, allow: true }, { onSuccess: () => close(true) })}
      close={() => close(false)}
    >
      <ForeignBlock text={rule} from="server" label={t("network.rule")} />
      <p className="m-0 text-pretty text-ink2">{inWords(rule, t)}</p>
    </AskDialog>
  );
}
