import { useRevokeSecret } from "@/api/secrets";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { AskDialog } from "@/ui/ask-dialog";

interface Props {
  secret: string;
  server: string;
  /** The server holds the value itself: to take it back is to end its sandboxes. */
  weaker: boolean;
  close: (said?: string) => void;
}

/** RevokeDialog takes a secret from a server. It names both; there is no way back but to grant it anew. */
export function RevokeDialog({ secret, server, weaker, close }: Props) {
  const t = useT();
  const revoke = useRevokeSecret(secret);
  const names = { secret: visible(secret), server: visible(server) };
  return (
    <AskDialog
      title={t("secrets.revoke.title", names)}
      body={t(weaker ? "secrets.revoke.weaker" : "secrets.revoke.body", names)}
      keep={t("grants.keep")}
      act={t("secrets.revoke.act", names)}
      look="danger"
      disabled={revoke.isPending}
      error={revoke.error}
      run={() => revoke.mutate(server, { onSuccess: () => close(t("secrets.revoked", names)) })}
      close={() => close()}
    />
  );
}
