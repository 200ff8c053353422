import { useState } from "react";
import { useSecretUses } from "@/api/secrets";
import type { Secret, SecretGrant } from "@/api/types";
import { moment } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Badge } from "@/ui/badge";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { Facts } from "@/ui/facts";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Panel } from "@/ui/panel";
import { Section } from "@/ui/section";
import { Select } from "@/ui/select";
import { UsesList } from "./uses-list";

/** Deed is what is about to be done to a secret, in a dialog of its own. */
export type Deed =
  | { kind: "new" }
  | { kind: "set" | "rotate" | "remove"; secret: Secret }
  | { kind: "grant"; secret: Secret; grant?: SecretGrant }
  | { kind: "revoke"; secret: Secret; grant: SecretGrant };

interface Props {
  secret: Secret;
  begin: (deed: Deed) => void;
  close: () => void;
}

/** SecretPanel is one secret's details: what is known of it, who may use it, and what it was used for. */
export function SecretPanel({ secret, begin, close }: Props) {
  const t = useT();
  const locale = useLocale();
  const at = (time: string | undefined) => time && moment(time, locale);
  return (
    <Panel
      label={visible(secret.name)}
      close={close}
      title={
        <h2 className="m-0 truncate font-mono text-base font-[620]">
          <Foreign text={secret.name} />
        </h2>
      }
    >
      <Section>
        <div className="flex flex-wrap gap-2">
          <Button small onClick={() => begin({ kind: "set", secret })}>
            {t(secret.missing ? "secrets.set" : "secrets.set.again")}
          </Button>
          <Button small onClick={() => begin({ kind: "grant", secret })}>
            {t("secrets.grant.to")}
          </Button>
          <span className="flex-1" />
          {!secret.missing && (
            <Button small look="danger" onClick={() => begin({ kind: "rotate", secret })}>
              {t("secrets.rotate")}
            </Button>
          )}
          <Button small look="danger" onClick={() => begin({ kind: "remove", secret })}>
            {t("secrets.remove")}
          </Button>
        </div>
      </Section>
      <Section>
        <Facts
          facts={[
            [t("secrets.state"), <State key="s" secret={secret} />],
            [t("secrets.fact.version"), secret.version > 0 && secret.version],
            [t("secrets.fact.from"), secret.from_command && t("secrets.fact.command")],
            [t("secrets.fact.created"), at(secret.created)],
            [t("secrets.fact.changed"), secret.changed !== secret.created && at(secret.changed)],
            [t("secrets.fact.expires"), at(secret.expires)],
          ]}
        />
      </Section>
      <Section label={t("secrets.grants")}>
        {secret.grants.length === 0 ? (
          <p className="m-0 text-ink2">{t("secrets.grants.none")}</p>
        ) : (
          <ul aria-label={t("secrets.grants")} className="m-0 flex list-none flex-col gap-2.5 p-0">
            {secret.grants.map((grant) => (
              <GrantItem key={grant.server} secret={secret} grant={grant} begin={begin} />
            ))}
          </ul>
        )}
      </Section>
      <Uses name={secret.name} />
    </Panel>
  );
}

function State({ secret }: { secret: Secret }) {
  const t = useT();
  if (secret.missing)
    return (
      <span>
        <Badge tone="no" icon="warn">
          {t("secrets.missing")}
        </Badge>
        <span className="block pt-1 text-pretty text-ink2">
          <Foreign text={t("secrets.missing.body", { servers: secret.grants.map((g) => g.server).join(", ") })} />
        </span>
      </span>
    );
  if (secret.expired)
    return (
      <Badge tone="no" icon="warn">
        {t("secrets.expired")}
      </Badge>
    );
  return (
    <Badge tone="ok" icon="lock">
      {t("secrets.sealed")}
    </Badge>
  );
}

function GrantItem({ secret, grant, begin }: { secret: Secret; grant: SecretGrant; begin: (deed: Deed) => void }) {
  const t = useT();
  const names = `${visible(secret.name)}, ${visible(grant.server)}`;
  return (
    <li className="flex flex-col gap-1">
      <p className="m-0 text-pretty">
        <Foreign text={grant.words ?? ""} />
      </p>
      <div className="flex items-center gap-2">
        {grant.weaker && (
          <Badge tone="no" icon="warn">
            {t("secrets.weaker")}
          </Badge>
        )}
        {grant.in_force === false && <Badge tone="plain">{t("grants.state.ended")}</Badge>}
        <span className="flex-1" />
        <Button
          small
          look="quiet"
          aria-label={`${t("secrets.change")}: ${names}`}
          onClick={() => begin({ kind: "grant", secret, grant })}
        >
          {t("secrets.change")}
        </Button>
        <Button
          small
          look="danger"
          aria-label={`${t("secrets.revoke")}: ${names}`}
          onClick={() => begin({ kind: "revoke", secret, grant })}
        >
          {t("secrets.revoke")}
        </Button>
      </div>
    </li>
  );
}

const spans = [1, 7, 30, 90] as const;

function Uses({ name }: { name: string }) {
  const t = useT();
  const [days, setDays] = useState(30);
  const uses = useSecretUses(name, days);
  const label = t("secrets.uses.of", { name: visible(name) });
  return (
    <Section
      label={t("secrets.uses")}
      beside={
        <Select aria-label={t("secrets.since")} value={days} onChange={(e) => setDays(Number(e.target.value))}>
          {spans.map((n) => (
            <option key={n} value={n}>
              {t("secrets.days", { n })}
            </option>
          ))}
        </Select>
      }
    >
      {uses.isError ? (
        <Failure told={tell(uses.error)} retry={() => void uses.refetch()} />
      ) : uses.data ? (
        <div className="rounded-lg border border-line">
          <UsesList label={label} uses={uses.data} />
        </div>
      ) : (
        <Bones rows={3} />
      )}
    </Section>
  );
}
