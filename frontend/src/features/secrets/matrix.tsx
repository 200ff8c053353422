import { Link } from "@tanstack/react-router";
import type { Secret, SecretGrant } from "@/api/types";
import { cx } from "@/lib/cx";
import { minute } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Foreign } from "@/ui/foreign";
import { GrantCell } from "./grant-cell";
import { inOrder, serversOf } from "./order";
import { CallLinks } from "./uses-list";

const head = "px-3 py-[7px] text-left align-bottom text-sm font-normal text-ink3";

interface Props {
  secrets: Secret[];
  chosen: string | undefined;
  choose: (name: string) => void;
  set: (secret: Secret) => void;
  revoke: (secret: Secret, grant: SecretGrant) => void;
}

/** Matrix is who may use what: a row a secret, a column a server. */
export function Matrix({ secrets, chosen, choose, set, revoke }: Props) {
  const t = useT();
  const servers = serversOf(secrets);
  return (
    <div
      role="group"
      aria-label={t("secrets.table")}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else the keyboard cannot scroll it
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line bg-surface focus-visible:outline-offset-[-2px]"
    >
      <table aria-label={t("secrets.table")} className="w-full border-collapse">
        <thead>
          <tr className="border-b border-line">
            <th scope="col" className={cx(head, "sticky left-0 z-10 min-w-[170px] bg-surface pl-5")}>
              {t("secrets.secret")}
            </th>
            {servers.map((s) => (
              <th key={s} scope="col" className={cx(head, "min-w-[170px]")}>
                <Link to="/servers" search={{ server: s }} className="text-ink2 no-underline hover:underline">
                  <Foreign text={s} />
                </Link>
              </th>
            ))}
            <th scope="col" className={cx(head, "min-w-[170px] pr-5")}>
              {t("secrets.lastUse")}
            </th>
          </tr>
        </thead>
        <tbody>
          {inOrder(secrets).map((secret) => (
            <tr key={secret.name} className={cx("border-b border-line last:border-b-0", secret.name === chosen && "bg-raised")}>
              <th
                scope="row"
                className={cx(
                  "sticky left-0 z-10 py-2.5 pr-3 pl-5 text-left align-top font-normal",
                  secret.name === chosen ? "bg-raised shadow-[inset_3px_0_0_var(--focus)]" : "bg-surface",
                )}
              >
                <RowHead secret={secret} choose={choose} set={set} />
              </th>
              {servers.map((server) => {
                const grant = secret.grants.find((g) => g.server === server);
                return (
                  <td key={server} className="px-3 py-2.5 align-top">
                    {grant ? (
                      <GrantCell secret={secret.name} grant={grant} revoke={() => revoke(secret, grant)} />
                    ) : (
                      <span className="text-ink3">
                        <span aria-hidden>–</span>
                        <span className="sr-only">{t("secrets.cell.none")}</span>
                      </span>
                    )}
                  </td>
                );
              })}
              <td className="px-3 py-2.5 pr-5 align-top">
                <LastUse secret={secret} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RowHead({ secret, choose, set }: { secret: Secret; choose: (name: string) => void; set: (s: Secret) => void }) {
  const t = useT();
  return (
    <div className="flex flex-col items-start gap-1">
      <button
        type="button"
        onClick={() => choose(secret.name)}
        className="text-left font-mono text-sm font-[600] hover:underline"
      >
        <Foreign text={secret.name} />
      </button>
      {secret.missing || secret.expired ? (
        <>
          <Badge tone="no" icon="warn">
            {t(secret.missing ? "secrets.missing" : "secrets.expired")}
          </Badge>
          <Button small onClick={() => set(secret)} aria-label={`${t("secrets.set")}: ${visible(secret.name)}`}>
            {t("secrets.set")}
          </Button>
        </>
      ) : (
        <span className="text-sm text-ink3">
          {t(secret.from_command ? "secrets.versionCommand" : "secrets.version", { version: secret.version })}
        </span>
      )}
    </div>
  );
}

function LastUse({ secret }: { secret: Secret }) {
  const t = useT();
  const locale = useLocale();
  const use = secret.last_use;
  if (!use) return <span className="text-ink3">{t("secrets.neverUsed")}</span>;
  return (
    <div className="flex flex-col gap-0.5">
      <time dateTime={use.at} className="tabular whitespace-nowrap text-ink2">
        {minute(use.at, locale)}
      </time>
      <span className="text-sm text-ink2">
        <Foreign text={use.server} />{" "}
        {use.host ? (
          <>
            {t("secrets.use.to")} <Foreign text={use.host.replace(/:443$/, "")} className="font-mono" />
          </>
        ) : (
          t("secrets.use.handed")
        )}
      </span>
      <span className="flex flex-wrap gap-x-3">
        <CallLinks calls={use.calls} />
      </span>
    </div>
  );
}
