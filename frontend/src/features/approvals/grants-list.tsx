import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useGrants } from "@/api/grants";
import type { Grant } from "@/api/types";
import { moment } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { Badge } from "@/ui/badge";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { RevokeDialog } from "./revoke-dialog";
import { useScopeName } from "./scope-name";

const route = getRouteApi("/approvals");

/** GrantsList is what the person has permitted beyond one call: in words, how long, how often used. */
export function GrantsList() {
  const t = useT();
  const { q = "", ended } = route.useSearch();
  const navigate = useNavigate({ from: "/approvals" });
  const grants = useGrants(ended === "yes");
  const [revoking, setRevoking] = useState<Grant>();
  const all = [...(grants.data ?? [])].sort((a, b) => b.created.localeCompare(a.created));
  const found = all.filter((g) => matches(g, q));
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <input
          type="search"
          aria-label={t("grants.filter")}
          placeholder={t("grants.filter")}
          value={q}
          onChange={(e) => void navigate({ search: (s) => ({ ...s, q: e.target.value || undefined }), replace: true })}
          className="min-w-0 flex-1 rounded-md border border-line bg-surface px-2.5 py-[5px] placeholder:text-ink3"
        />
        <label className="flex items-center gap-1.5 text-ink2">
          <input
            type="checkbox"
            checked={ended === "yes"}
            onChange={(e) =>
              void navigate({ search: (s) => ({ ...s, ended: e.target.checked ? "yes" : undefined }), replace: true })
            }
            className="accent-info"
          />
          {t("grants.ended")}
        </label>
      </div>
      {grants.isPending && <Bones rows={5} />}
      {grants.isError && !grants.data && <Failure told={tell(grants.error)} retry={() => void grants.refetch()} />}
      {grants.data && all.length === 0 && <EmptyState title={t("grants.empty")} body={t("grants.empty.body")} />}
      {all.length > 0 && found.length === 0 && <p className="m-0 text-ink2">{t("grants.noMatch", { n: all.length })}</p>}
      {found.length > 0 && (
        <ul aria-label={t("grants.list")} className="m-0 flex list-none flex-col gap-2 p-0">
          {found.map((g) => (
            <GrantItem key={g.id} grant={g} revoke={() => setRevoking(g)} />
          ))}
        </ul>
      )}
      {revoking && <RevokeDialog grant={revoking} close={() => setRevoking(undefined)} />}
    </>
  );
}

function GrantItem({ grant, revoke }: { grant: Grant; revoke: () => void }) {
  const t = useT();
  const locale = useLocale();
  const name = useScopeName();
  const valid = grant.state === "valid";
  return (
    <li className="flex items-start gap-4 rounded-xl border border-line bg-surface px-4 py-3">
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className={valid ? "m-0 text-pretty" : "m-0 text-pretty text-ink3"}>
          <Foreign text={grant.agent} className="font-[600]" /> {t("grants.may")} <Foreign text={grant.words} />
        </p>
        <p className="tabular m-0 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-ink2">
          <Badge tone={valid ? "info" : "plain"}>{valid ? name(grant.scope, grant.until) : t(stateWord(grant.state))}</Badge>
          <span>{t("grants.uses", { n: grant.uses })}</span>
          <span>{grant.used ? t("grants.used", { time: moment(grant.used, locale) }) : t("grants.neverUsed")}</span>
          <span className="text-ink3">{t("grants.given", { time: moment(grant.created, locale), who: grant.by })}</span>
          {grant.revoked && <span className="text-ink3">{t("grants.revokedAt", { time: moment(grant.revoked, locale) })}</span>}
        </p>
      </div>
      {valid && (
        <Button small look="danger" onClick={revoke} aria-label={`${t("grants.revoke")}: ${grant.words}`}>
          {t("grants.revoke")}
        </Button>
      )}
    </li>
  );
}

function stateWord(state: string) {
  return state === "revoked" ? "grants.state.revoked" : "grants.state.ended";
}

function matches(g: Grant, q: string): boolean {
  const text = [g.agent, g.server, g.tool, g.words, g.scope, g.state].join(" ").toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
