import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useLink } from "@/api/events";
import { useSecrets } from "@/api/secrets";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { DeedDialog } from "./deed-dialog";
import { KeeperCard } from "./keeper-card";
import { Matrix } from "./matrix";
import { SecretPanel, type Deed } from "./secret-panel";

const route = getRouteApi("/secrets");

/** SecretsPage is which secrets there are, who may use them and how, and what they were used for last. Their values
 * are nowhere on it. */
export function SecretsPage() {
  const t = useT();
  const link = useLink();
  const found = useSecrets();
  const { secret: name } = route.useSearch();
  const navigate = useNavigate({ from: "/secrets" });
  const [deed, setDeed] = useState<Deed>();
  const [said, setSaid] = useState("");
  const choose = (secret?: string) => void navigate({ search: { secret }, replace: true });
  const { secrets = [], keeper } = found.data ?? {};
  const chosen = secrets.find((s) => s.name === name);
  const begin = (next: Deed) => {
    setSaid("");
    setDeed(next);
  };
  return (
    <Page
      title={t("nav.secrets")}
      beside={<LiveChip link={link} />}
      actions={
        keeper && (
          <Button small onClick={() => begin({ kind: "new" })}>
            <Icon name="plus" size={13} />
            {t("secrets.add")}
          </Button>
        )
      }
    >
      <div className="flex h-full">
        <div className="min-w-0 flex-1 overflow-y-auto">
          {found.isPending && <Bones rows={7} />}
          {found.isError && !found.data && (
            <div className="p-6">
              <Failure told={tell(found.error)} retry={() => void found.refetch()} />
            </div>
          )}
          {keeper && (
            <div className="flex min-h-full flex-col gap-4 px-6 py-5 max-[620px]:px-3">
              <KeeperCard keeper={keeper} />
              <p role="status" className={said ? "m-0 flex items-center gap-2 text-ink2" : "sr-only"}>
                <Foreign text={said} />
              </p>
              {secrets.length === 0 ? (
                <div className="flex-1">
                  <EmptyState title={t("secrets.empty")} body={t("secrets.empty.body")}>
                    <Button look="primary" onClick={() => begin({ kind: "new" })}>
                      {t("secrets.add")}
                    </Button>
                  </EmptyState>
                </div>
              ) : (
                <Matrix
                  secrets={secrets}
                  chosen={name}
                  choose={choose}
                  set={(secret) => begin({ kind: "set", secret })}
                  revoke={(secret, grant) => begin({ kind: "revoke", secret, grant })}
                />
              )}
            </div>
          )}
        </div>
        {chosen && <SecretPanel key={chosen.name} secret={chosen} begin={begin} close={() => choose()} />}
      </div>
      {deed && (
        <DeedDialog
          key={deed.kind}
          deed={deed}
          begin={begin}
          close={(words) => {
            setDeed(undefined);
            if (words) setSaid(words);
          }}
        />
      )}
    </Page>
  );
}
