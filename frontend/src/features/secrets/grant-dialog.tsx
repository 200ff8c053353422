import { useState } from "react";
import { useGrantSecret, useProposeGrant } from "@/api/secrets";
import { useServers } from "@/api/servers";
import type { Secret, SecretGrant } from "@/api/types";
import { useLocale, useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Field, fieldLook } from "@/ui/field";
import { Foreign } from "@/ui/foreign";
import { FormDialog } from "@/ui/form-dialog";
import { Icon } from "@/ui/icon";
import { Select } from "@/ui/select";
import { complete, draftOf, grantOf, holds, type Draft } from "./draft";
import { PlacesEditor } from "./places-editor";
import { inWords } from "./words";

interface Props {
  secret: Secret;
  /** The grant that is changed; none where a server is granted anew. */
  grant?: SecretGrant | undefined;
  close: (said?: string) => void;
}

const modes = ["placeholder", "env", "file"] as const;

/** GrantDialog lets a server use a secret: how it gets it, where it may go, and for how long. */
export function GrantDialog({ secret, grant, close }: Props) {
  const t = useT();
  const locale = useLocale();
  const give = useGrantSecret(secret.name);
  const servers = useServers().data ?? [];
  const free = servers.filter((s) => !secret.grants.some((g) => g.server === s.name));
  const [draft, setDraft] = useState(() => draftOf(secret.name, grant, free.length === 1 ? free[0]!.name : ""));
  const propose = useProposeGrant(secret.name);
  const choose = (server: string) => {
    const elsewhere = Boolean(servers.find((s) => s.name === server)?.url);
    const begun = draftOf(secret.name, undefined, server);
    const fresh: Draft = elsewhere ? { ...begun, mode: "sent" } : begun;
    setDraft(fresh);
    if (server === "") return;
    // What is known of the server is filled in, unless the person has begun to write meanwhile.
    propose.mutate(
      { server, mode: fresh.mode, places: [], hosts: [], tools: [], ask: false },
      { onSuccess: (known) => setDraft((d) => (d === fresh && !known.lacks ? draftOf(secret.name, known, server) : d)) },
    );
  };
  const sent = draft.mode === "sent";
  const edit = (some: Partial<Draft>) => setDraft((d) => ({ ...d, ...some }));
  const names = { secret: visible(secret.name), server: visible(draft.server) };
  const tools = servers.find((s) => s.name === draft.server)?.tools.map((x) => x.name) ?? [];
  return (
    <FormDialog
      className="w-[600px]"
      title={grant ? t("secrets.grant.change", names) : t("secrets.grant.title", names)}
      leave={t("secrets.leave")}
      act={t(grant ? "secrets.grant.save" : "secrets.grant")}
      disabled={give.isPending || !complete(draft)}
      error={give.error}
      foot={
        <p role="status" className="m-0 line-clamp-4 text-pretty">
          <span className="text-ink3">{t("secrets.grant.means")}: </span>
          <Foreign text={inWords(grantOf(draft), t, locale)} />
        </p>
      }
      submit={() => give.mutate(grantOf(draft), { onSuccess: () => close(t("secrets.granted", names)) })}
      close={() => close()}
    >
      {!grant && (
        <div className="flex flex-col gap-1">
          <label htmlFor="grant-server" className="text-sm text-ink3">
            {t("secrets.grant.server")}
          </label>
          <Select id="grant-server" value={draft.server} onChange={(e) => choose(e.target.value)} required>
            <option value="">{t("secrets.grant.choose")}</option>
            {free.map((s) => (
              <option key={s.name} value={s.name}>
                {visible(s.name)}
              </option>
            ))}
          </Select>
        </div>
      )}
      {!grant && propose.isSuccess && !propose.data.lacks && draft.server === propose.variables.server && (
        <p role="status" className="m-0 flex gap-2 text-sm text-pretty text-ink2">
          <Icon name="check" size={13} className="mt-0.5 text-ok" />
          {t("secrets.grant.known")}
        </p>
      )}
      {sent && <p className="m-0 text-pretty text-ink2">{t("secrets.grant.sent")}</p>}
      <fieldset hidden={sent} className={sent ? "hidden" : "m-0 flex flex-col gap-1.5 border-0 p-0"}>
        <legend className="mb-1 p-0 text-sm text-ink3">{t("secrets.grant.how")}</legend>
        {modes.map((mode) => (
          <label
            key={mode}
            className="grid grid-cols-[auto_1fr] gap-x-2.5 rounded-lg border border-line2 px-3 py-2 has-checked:border-focus has-checked:bg-info-bg has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
          >
            <input
              type="radio"
              name="mode"
              checked={draft.mode === mode}
              onChange={() => edit({ mode })}
              className="mt-[3px] accent-info outline-none"
            />
            <span className="flex items-center gap-1.5 font-[550]">
              {t(`secrets.mode.${mode}`)}
              {mode !== "placeholder" && (
                <span className="flex items-center gap-1 text-sm text-no">
                  <Icon name="warn" size={12} />
                  {t("secrets.weaker")}
                </span>
              )}
            </span>
            <span className="col-start-2 text-sm text-pretty text-ink2">{t(`secrets.mode.${mode}.body`)}</span>
          </label>
        ))}
      </fieldset>
      {!sent && <Where draft={draft} edit={edit} />}
      {!holds(draft) && (
        <>
          {!sent && (
            <Field
              label={t("secrets.grant.hosts")}
              value={draft.hosts}
              change={(hosts) => edit({ hosts })}
              placeholder="api.github.com"
              hint={t("secrets.grant.hosts.hint")}
              lines={2}
            />
          )}
          <PlacesEditor places={draft.places} change={(places) => edit({ places })} />
          <Field
            label={t("secrets.grant.tools")}
            value={draft.tools}
            change={(text) => edit({ tools: text })}
            list={tools}
            placeholder={t("secrets.grant.tools.any")}
            hint={t("secrets.grant.tools.hint")}
          />
        </>
      )}
      <Field label={t("secrets.grant.until")} type="datetime-local" value={draft.until} change={(until) => edit({ until })} />
      {!holds(draft) && (
        <label className="flex items-start gap-2">
          <input
            type="checkbox"
            checked={draft.ask}
            onChange={(e) => edit({ ask: e.target.checked })}
            className="mt-[3px] accent-info"
          />
          <span>{t("secrets.grant.ask")}</span>
        </label>
      )}
    </FormDialog>
  );
}

/** Where is the variable or file in which the server finds it. */
function Where({ draft, edit }: { draft: Draft; edit: (some: Partial<Draft>) => void }) {
  const t = useT();
  const inFile = draft.mode === "file" || (draft.mode === "placeholder" && draft.at === "file");
  if (draft.mode !== "placeholder") {
    return inFile ? (
      <Field label={t("secrets.grant.file")} value={draft.file} change={(file) => edit({ file })} required />
    ) : (
      <Field label={t("secrets.grant.env")} value={draft.env} change={(env) => edit({ env })} required />
    );
  }
  return (
    <fieldset className="m-0 border-0 p-0">
      <legend className="mb-1 p-0 text-sm text-ink3">{t("secrets.grant.at")}</legend>
      <div className="flex items-center gap-2">
        <Select
          aria-label={t("secrets.grant.at")}
          value={draft.at}
          onChange={(e) => edit({ at: e.target.value as Draft["at"] })}
          className="w-[150px] shrink-0"
        >
          <option value="env">{t("secrets.grant.env")}</option>
          <option value="file">{t("secrets.grant.file")}</option>
          {draft.arg !== "" && <option value="arg">{t("secrets.grant.arg")}</option>}
        </Select>
        <input
          aria-label={t(`secrets.grant.${draft.at}`)}
          value={draft[draft.at]}
          spellCheck={false}
          autoComplete="off"
          onChange={(e) => edit({ [draft.at]: e.target.value })}
          className={fieldLook}
        />
      </div>
    </fieldset>
  );
}
