import { useState, type FormEvent } from "react";
import { useObserve } from "@/api/observe";
import type { Server } from "@/api/types";
import { useT, type Key } from "@/lib/i18n";
import { Button } from "@/ui/button";
import { CopyCommand } from "@/ui/copy-command";
import { Failure, tell } from "@/ui/failure";
import { Field } from "@/ui/field";
import { Icon, type IconName } from "@/ui/icon";

const lengths = [10, 30, 60, 240] as const;

const points: [icon: IconName, key: Key][] = [
  ["eye", "observe.point.use"],
  ["approvals", "observe.point.asks"],
  ["check", "observe.point.least"],
];

/** BeginView says what watching is, and begins it. */
export function BeginView({ server }: { server: Server }) {
  const t = useT();
  const begin = useObserve(server.name);
  const [minutes, setMinutes] = useState(30);
  const [folder, setFolder] = useState("");
  const wrong = folder.trim() !== "" && !folder.trim().startsWith("/");
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (!wrong) begin.mutate({ minutes, ...(folder.trim() && { workspace: [folder.trim()] }) });
  };
  if (server.url)
    return (
      <section className="rounded-xl border border-line bg-surface p-5">
        <h2 className="m-0 mb-1 text-lg font-[620] tracking-[-0.01em]">{t("observe.external")}</h2>
        <p className="m-0 text-pretty text-ink2">{t("observe.external.body")}</p>
      </section>
    );
  return (
    <section className="grid grid-cols-[1fr_300px] rounded-xl border border-line bg-surface max-[860px]:grid-cols-1">
      <div className="p-6 max-[480px]:p-4">
        <h2 className="m-0 mb-1 text-xl font-[640] tracking-[-0.015em] text-pretty">{t("observe.begin.title")}</h2>
        <p className="m-0 mb-4 text-pretty text-ink2">{t("observe.begin.body")}</p>
        <ol className="m-0 flex list-none flex-col gap-3 p-0">
          {points.map(([icon, key]) => (
            <li key={key} className="flex gap-3">
              <span className="grid size-7 shrink-0 place-items-center rounded-lg border border-line text-ink2">
                <Icon name={icon} />
              </span>
              <span className="pt-1 text-pretty">{t(key)}</span>
            </li>
          ))}
        </ol>
      </div>
      <form
        onSubmit={submit}
        aria-label={t("observe.begin.title")}
        className="flex flex-col gap-4 border-l border-line p-6 max-[860px]:border-t max-[860px]:border-l-0 max-[480px]:p-4"
      >
        <fieldset className="m-0 border-0 p-0">
          <legend className="mb-1.5 p-0 text-sm text-ink3">{t("observe.length")}</legend>
          <div className="grid grid-cols-2 gap-1.5">
            {lengths.map((n) => (
              <label
                key={n}
                className="flex items-center gap-2 rounded-lg border border-line2 px-3 py-1.5 has-checked:border-focus has-checked:bg-info-bg has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
              >
                <input
                  type="radio"
                  name="length"
                  checked={minutes === n}
                  onChange={() => setMinutes(n)}
                  className="accent-info outline-none"
                />
                {n < 60 ? t("observe.minutes", { n }) : t("observe.hours", { n: n / 60 })}
              </label>
            ))}
          </div>
        </fieldset>
        <Field
          label={t("observe.folder")}
          value={folder}
          change={setFolder}
          placeholder={server.folders[0] ?? "/home/me/project"}
          hint={t("observe.folder.hint")}
          wrong={wrong && t("observe.folder.wrong")}
        />
        <div>
          <Button type="submit" look="primary" disabled={begin.isPending || wrong}>
            {t("observe.begin")}
          </Button>
        </div>
        {begin.error && <Failure told={tell(begin.error)} heading={t("error.refused")} />}
        <details className="text-sm">
          <summary className="text-info">{t("observe.terminal")}</summary>
          <div className="pt-1.5">
            <CopyCommand command={`garita server observe ${server.name}`} />
          </div>
        </details>
      </form>
    </section>
  );
}
