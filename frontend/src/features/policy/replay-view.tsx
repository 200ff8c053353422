import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState, type ChangeEvent } from "react";
import { useReplay } from "@/api/policy";
import { useT } from "@/lib/i18n";
import { Button } from "@/ui/button";
import { Failure, tell } from "@/ui/failure";
import { Select } from "@/ui/select";
import { Field } from "@/ui/field";
import { ReplayTable } from "./replay-table";

const route = getRouteApi("/policy");
const days = [1, 7, 30] as const;

/** ReplayView says what a policy would have done with the calls of the record. The text is tried, never
 * put in force. */
export function ReplayView() {
  const t = useT();
  const { since = "7" } = route.useSearch();
  const navigate = useNavigate({ from: "/policy" });
  const [text, setText] = useState("");
  const replay = useReplay();
  const load = async (e: ChangeEvent<HTMLInputElement>) => {
    const file = e.target.files?.[0];
    if (file) setText(await file.text());
  };
  const run = () =>
    replay.mutate({
      since: new Date(Date.now() - Number(since) * 86_400_000).toISOString(),
      ...(text.trim() !== "" && { text, file: "policy.yaml" }),
    });
  return (
    <>
      <p className="m-0 text-ink2">{t("replay.body")}</p>
      <Field label={t("replay.text")} value={text} change={setText} lines={8} placeholder={t("replay.placeholder")} />
      <div className="flex flex-wrap items-center gap-3">
        <label className="rounded-lg border border-line2 bg-raised px-2.5 py-1 text-sm font-[580] has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus hover:border-ink3">
          {t("replay.file")}
          <input type="file" accept=".yaml,.yml,text/*" onChange={(e) => void load(e)} className="sr-only" />
        </label>
        <Select
          aria-label={t("replay.since")}
          value={since}
          onChange={(e) => void navigate({ search: (s) => ({ ...s, since: e.target.value }), replace: true })}
        >
          {days.map((n) => (
            <option key={n} value={n}>
              {t("replay.days", { n })}
            </option>
          ))}
        </Select>
        <Button look="primary" disabled={replay.isPending} onClick={run}>
          {t(replay.isPending ? "replay.running" : "replay.run")}
        </Button>
      </div>
      {replay.isError && <Failure told={tell(replay.error)} heading={t("replay.failed")} />}
      {replay.data && <ReplayTable replay={replay.data} />}
    </>
  );
}
