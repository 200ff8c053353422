import { useRef, useState } from "react";
import { useSetSecret } from "@/api/secrets";
import type { Secret } from "@/api/types";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { CopyCommand } from "@/ui/copy-command";
import { Field } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { HiddenInput, type Hidden } from "@/ui/hidden-input";
import { localTime } from "./draft";

interface Props {
  /** The one that gets a value; none where a new one is named. */
  secret?: Secret | undefined;
  close: (said?: string) => void;
}

const names = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** SetDialog takes a value and sends it. It stands nowhere before or after. */
export function SetDialog({ secret, close }: Props) {
  const t = useT();
  const set = useSetSecret();
  const value = useRef<Hidden>(null);
  const [name, setName] = useState(secret?.name ?? "");
  const [expires, setExpires] = useState(secret?.expires && !secret.expired ? localTime(secret.expires) : "");
  const [filled, setFilled] = useState(false);
  const wrong = name !== "" && !names.test(name);
  const submit = async () => {
    const done = await set.run({
      name,
      value: value.current?.take() ?? "",
      ...(expires && { expires: new Date(expires).toISOString() }),
    });
    if (done) close(t("secrets.stored", { name }));
  };
  return (
    <FormDialog
      title={
        secret
          ? t(secret.missing ? "secrets.set.title" : "secrets.set.next", { name: visible(secret.name) })
          : t("secrets.set.new")
      }
      body={t("secrets.set.body")}
      leave={t("secrets.leave")}
      act={t("secrets.set")}
      disabled={set.pending || !filled || name === "" || wrong}
      error={set.error}
      submit={() => void submit()}
      close={() => close()}
    >
      {!secret && (
        <Field
          label={t("secrets.name")}
          value={name}
          change={setName}
          placeholder="github-token"
          wrong={wrong && t("secrets.name.wrong")}
          hint={t("secrets.name.hint")}
        />
      )}
      <HiddenInput
        handle={value}
        label={t("secrets.value")}
        filled={setFilled}
        hint={t(set.error === undefined ? "secrets.value.hint" : "secrets.value.again")}
        focus={secret !== undefined}
        lines
      />
      <Field
        label={t("secrets.expires")}
        type="datetime-local"
        value={expires}
        change={setExpires}
        hint={t("secrets.expires.hint")}
      />
      <details className="text-sm">
        <summary className="text-info">{t("secrets.fromCommand")}</summary>
        <p className="mt-1 mb-1.5 text-pretty text-ink2">{t("secrets.fromCommand.body")}</p>
        <CopyCommand command={`garita secret set ${names.test(name) ? name : "NAME"} --from-command -- COMMAND`} />
      </details>
    </FormDialog>
  );
}
