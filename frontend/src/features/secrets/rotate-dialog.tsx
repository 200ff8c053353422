import { useState } from "react";
import { useRotateSecret, useSecretUses } from "@/api/secrets";
import type { Secret, SecretRotation } from "@/api/types";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { AskDialog } from "@/ui/ask-dialog";
import { Bones } from "@/ui/bones";
import { Failure, tell } from "@/ui/failure";
import { Scroll } from "@/ui/scroll";
import { Select } from "@/ui/select";
import { UsesList } from "./uses-list";

interface Props {
  secret: Secret;
  /** next is called for the new value. */
  next: () => void;
  close: () => void;
}

const spans = [1, 7, 30, 90] as const;

/** RotateDialog is for a suspicion: what the secret was used for since, and it is taken from everybody at once.
 * Then the provider's new value is wanted. */
export function RotateDialog({ secret, next, close }: Props) {
  const t = useT();
  const rotate = useRotateSecret(secret.name);
  const [days, setDays] = useState(7);
  const uses = useSecretUses(secret.name, days);
  const done = rotate.data;
  const name = visible(secret.name);
  const label = t("secrets.uses.of", { name });
  return (
    <AskDialog
      className="w-[640px]"
      title={t(done ? "secrets.rotate.done" : "secrets.rotate.title", { name })}
      body={done ? <Outcome rotation={done} /> : t("secrets.rotate.body", { servers: servers(secret) || t("common.none") })}
      keep={t(done ? "secrets.rotate.later" : "secrets.leave")}
      act={t(done ? "secrets.rotate.value" : "secrets.rotate.act", { name })}
      look={done ? "primary" : "danger"}
      disabled={rotate.isPending}
      error={rotate.error}
      run={() => (done ? next() : rotate.mutate(days))}
      close={close}
    >
      {!done && (
        <Select
          aria-label={t("secrets.since")}
          value={days}
          onChange={(e) => setDays(Number(e.target.value))}
          className="self-start"
        >
          {spans.map((n) => (
            <option key={n} value={n}>
              {t("secrets.days", { n })}
            </option>
          ))}
        </Select>
      )}
      <Scroll label={label} className="max-h-[320px] rounded-lg border border-line">
        {done ? (
          <UsesList label={label} uses={done.uses} />
        ) : uses.data ? (
          <UsesList label={label} uses={uses.data} />
        ) : uses.isError ? (
          <Failure told={tell(uses.error)} retry={() => void uses.refetch()} />
        ) : (
          <Bones rows={3} />
        )}
      </Scroll>
    </AskDialog>
  );
}

const servers = (s: Secret) => s.grants.map((g) => visible(g.server)).join(", ");

function Outcome({ rotation }: { rotation: SecretRotation }) {
  const t = useT();
  return (
    <>
      {rotation.revoked.length > 0
        ? t("secrets.rotate.revoked", { servers: rotation.revoked.map(visible).join(", ") })
        : t("secrets.rotate.nobody")}{" "}
      {rotation.ended > 0 && t("secrets.rotate.ended", { n: rotation.ended })} {t("secrets.rotate.provider")}
    </>
  );
}
