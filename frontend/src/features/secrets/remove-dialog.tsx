import { useRemoveSecret } from "@/api/secrets";
import type { Secret } from "@/api/types";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { AskDialog } from "@/ui/ask-dialog";

/** RemoveDialog forgets a secret: its value and everybody's leave to use it. */
export function RemoveDialog({ secret, close }: { secret: Secret; close: (said?: string) => void }) {
  const t = useT();
  const remove = useRemoveSecret(secret.name);
  const name = visible(secret.name);
  const servers = secret.grants.map((g) => visible(g.server)).join(", ");
  return (
    <AskDialog
      title={t("secrets.remove.title", { name })}
      body={servers ? t("secrets.remove.body", { servers }) : t("secrets.remove.unused")}
      keep={t("grants.keep")}
      act={t("secrets.remove.act", { name })}
      look="danger"
      disabled={remove.isPending}
      error={remove.error}
      run={() => remove.mutate(undefined, { onSuccess: () => close(t("secrets.removed", { name })) })}
      close={() => close()}
    />
  );
}
