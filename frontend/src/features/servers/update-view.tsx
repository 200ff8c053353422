import { useState } from "react";
import { useProgress } from "@/api/servers";
import { useAcceptUpdate, useFindUpdate } from "@/api/updates";
import type { Server, Update } from "@/api/types";
import { useT } from "@/lib/i18n";
import { useArmed } from "@/lib/use-armed";
import { Button } from "@/ui/button";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Section } from "@/ui/section";
import { ProgressRow } from "./progress-row";
import { UpdateChanges } from "./update-changes";

/** UpdateView looks for a newer version of a server's package, shows all that it would change, and has the
 * person accept just that. */
export function UpdateView({ server }: { server: Server }) {
  const t = useT();
  const find = useFindUpdate(server.name);
  const accept = useAcceptUpdate(server.name);
  const progress = useProgress(server);
  const [left, setLeft] = useState(false);
  const found = left || accept.isSuccess ? undefined : find.data;
  const look = () => {
    accept.reset();
    setLeft(false);
    find.mutate();
  };
  return (
    <>
      <Section>
        <p className="m-0 mb-2.5 text-pretty text-ink2">{t("update.body")}</p>
        <Button small disabled={find.isPending || accept.isPending} onClick={look}>
          {t(find.isPending ? "update.looking" : "update.look")}
        </Button>
        <p role="status" className="m-0 pt-2 text-pretty empty:pt-0">
          {accept.data && <Foreign text={t("update.done", { to: accept.data.to })} />}
          {found && !found.binding && <Foreign text={t("update.none", { from: found.from })} />}
        </p>
        {find.isPending && progress && <ProgressRow progress={progress} />}
      </Section>
      {(find.error ?? accept.error) && (
        <div className="p-5">
          <Failure told={tell(find.error ?? accept.error)} heading={t("error.refused")} />
        </div>
      )}
      {found?.binding && (
        <Answer
          key={found.binding}
          update={found}
          busy={accept.isPending}
          accept={() => accept.mutate(found.binding!)}
          leave={() => setLeft(true)}
        />
      )}
    </>
  );
}

interface AnswerProps {
  update: Update;
  busy: boolean;
  accept: () => void;
  leave: () => void;
}

function Answer({ update, busy, accept, leave }: AnswerProps) {
  const t = useT();
  const armed = useArmed(busy ? undefined : update.binding);
  return (
    <>
      <UpdateChanges update={update} />
      <div className="flex justify-end gap-2 px-5 py-3">
        <Button onClick={leave}>{t("update.leave")}</Button>
        <Button look="primary" disabled={!armed} onClick={accept}>
          {t("update.accept")}
        </Button>
      </div>
    </>
  );
}
