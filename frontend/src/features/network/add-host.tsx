import { useEffect, useRef, useState, type FormEvent } from "react";
import { useChangeNetwork } from "@/api/network";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Button } from "@/ui/button";
import { tell } from "@/ui/failure";
import { Field } from "@/ui/field";
import { Foreign } from "@/ui/foreign";
import { inWords } from "./words";

interface Props {
  server: string;
  /** It may reach any public host already. */
  publicWeb: boolean;
  said: (words: string) => void;
  close: () => void;
}

/** AddHost lets a person give a server a host. What is typed is said in words before; the daemon judges it. */
export function AddHost({ server, publicWeb, said, close }: Props) {
  const t = useT();
  const change = useChangeNetwork(server);
  const [host, setHost] = useState("");
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const problem = change.error ? tell(change.error) : undefined;
  const allow = (rule: string) =>
    change.mutate(
      { host: rule, allow: true },
      {
        onSuccess: () => {
          said(t("network.allowed", { host: rule === "public-web" ? t("network.public") : rule }));
          close();
        },
      },
    );
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (host.trim() !== "") allow(host.trim());
  };
  return (
    // Escape closes it, as it does a dialog.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      ref={form}
      onSubmit={submit}
      onKeyDown={(e) => e.key === "Escape" && close()}
      aria-label={t("network.add.label", { server: visible(server) })}
      className="mx-5 mb-2 flex flex-col gap-2 rounded-lg border border-line bg-sunken p-3"
    >
      <Field
        label={t("network.add.host")}
        value={host}
        change={(next) => {
          setHost(next);
          change.reset();
        }}
        placeholder="api.example.com"
        wrong={problem && <Foreign text={[problem.title, problem.detail].filter(Boolean).join(": ")} />}
        hint={host.trim() === "" ? t("network.add.hint") : inWords(host, t)}
      />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" small look="primary" disabled={host.trim() === "" || change.isPending}>
          {t("network.allow")}
        </Button>
        <Button small look="quiet" onClick={close}>
          {t("network.add.cancel")}
        </Button>
        <span className="flex-1" />
        {!publicWeb && (
          <button
            type="button"
            onClick={() => setHost("public-web")}
            title={t("network.words.public")}
            className="text-sm text-info hover:underline"
          >
            {t("network.add.public")}
          </button>
        )}
      </div>
    </form>
  );
}
