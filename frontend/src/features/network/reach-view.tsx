import { useState } from "react";
import { useRevoke } from "@/api/grants";
import { useChangeNetwork } from "@/api/network";
import type { Server } from "@/api/types";
import { useT, type Key } from "@/lib/i18n";
import { tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { StateDot } from "@/ui/state-dot";
import { AllowDialog } from "./allow-dialog";
import { Fan, groupGap, rowHeight, startOf, type Way } from "./fan";
import { HostRow, type Deeds } from "./host-row";
import { AllowAllDialog } from "./allow-all-dialog";
import type { Reach, Row } from "./rows";

const most = 6;

interface Props {
  server: Server;
  reach: Reach;
  said: (words: string) => void;
}

/** ReachView is the picture of what a server reaches: its sandbox, the wall, and the hosts behind it, each with what
 * can be done about it. */
export function ReachView({ server, reach, said }: Props) {
  const t = useT();
  const change = useChangeNetwork(server.name);
  const revoke = useRevoke();
  const [allowing, setAllowing] = useState<string>();
  const [allowingAll, setAllowingAll] = useState(false);
  const [all, setAll] = useState(false);
  const [old, setOld] = useState(false);
  const blocked = all ? reach.blocked : reach.blocked.slice(0, most);
  const groups: [label: Key, rows: Row[]][] = [
    ["network.reaches", reach.reaches],
    ["network.waits", reach.waits],
    ["network.tried", blocked],
    ["network.kept", old ? reach.kept : []],
  ];
  const shown = groups.filter(([, rows]) => rows.length > 0);
  const { ways, height } = layout(shown.map(([, rows]) => rows));
  const deeds: Deeds = {
    busy: change.isPending || revoke.isPending,
    allow: setAllowing,
    takeBack: (host) => change.mutate({ host, allow: false }, { onSuccess: () => said(t("network.takenBack", { host })) }),
    revoke: (grant, host) => revoke.mutate(grant, { onSuccess: () => said(t("network.takenBack", { host })) }),
    keep: (host) => change.mutate({ host, allow: false }, { onSuccess: () => said(t("network.staysBlocked", { host })) }),
    forget: (host) =>
      change.mutate({ host, allow: false, forget: true }, { onSuccess: () => said(t("network.forgotten", { host })) }),
  };
  const proposed = [...new Set(reach.blocked.flatMap((r) => (r.state === "blocked" && r.rule ? [r.rule] : [])))];
  const error = change.error ?? revoke.error;
  const start = startOf(ways, height);
  return (
    <>
      {ways.length > 0 && (
        <div className="@container px-5 pb-2">
          <div className="flex pt-7 @max-[620px]:pt-2">
            <div className="relative w-[112px] shrink-0 @max-[620px]:hidden" style={{ height }}>
              <div
                className="absolute right-0 left-0 flex flex-col rounded-lg border border-line2 bg-raised px-2.5 py-1.5"
                style={{ top: start, translate: "0 -50%" }}
              >
                <span className="text-sm font-[550]">{t("network.sandbox")}</span>
                <span className="flex items-center gap-1.5 text-sm text-ink2">
                  <StateDot state={server.state} />
                  {t(`state.${server.state}` as Key)}
                </span>
              </div>
            </div>
            <div className="@max-[620px]:hidden">
              <Fan ways={ways} height={height} />
            </div>
            <div className="flex min-w-0 flex-1 flex-col" style={{ gap: groupGap }}>
              {shown.map(([label, rows]) => (
                <ul key={label} aria-label={t(label, { server: server.name })} className="m-0 flex list-none flex-col p-0">
                  {rows.map((row) => (
                    <HostRow key={row.key} row={row} deeds={deeds} />
                  ))}
                </ul>
              ))}
            </div>
          </div>
        </div>
      )}
      {error && (
        <p role="alert" className="m-0 px-5 py-1 text-no">
          <Foreign text={[tell(error).title, tell(error).detail].filter(Boolean).join(": ")} />
        </p>
      )}
      {(reach.blocked.length > most || reach.kept.length > 0 || proposed.length > 1) && (
        <p className="m-0 flex flex-wrap gap-x-4 gap-y-1 px-5 pb-1 text-sm">
          {reach.blocked.length > most && (
            <button type="button" aria-expanded={all} onClick={() => setAll(!all)} className="text-info hover:underline">
              {all ? t("common.showLess") : t("network.moreTried", { n: reach.blocked.length - most })}
            </button>
          )}
          {proposed.length > 1 && (
            <button type="button" onClick={() => setAllowingAll(true)} className="text-info hover:underline">
              {t("network.allowAll", { n: proposed.length })}
            </button>
          )}
          {reach.kept.length > 0 && (
            <button type="button" aria-expanded={old} onClick={() => setOld(!old)} className="text-info hover:underline">
              {old ? t("network.hideKept") : t("network.showKept", { n: reach.kept.length })}
            </button>
          )}
        </p>
      )}
      {allowingAll && (
        <AllowAllDialog
          server={server.name}
          rules={proposed}
          close={(done) => {
            setAllowingAll(false);
            if (done) said(t("network.allowedAll", { n: done }));
          }}
        />
      )}
      {allowing && (
        <AllowDialog
          server={server.name}
          rule={allowing}
          close={(done) => {
            setAllowing(undefined);
            if (done) said(t("network.allowed", { host: allowing }));
          }}
        />
      )}
    </>
  );
}

/** layout says where each row's line ends. The rows are of one height, so that nothing needs to be measured. */
function layout(groups: Row[][]): { ways: { y: number; way: Way }[]; height: number } {
  const ways: { y: number; way: Way }[] = [];
  let top = 0;
  for (const rows of groups) {
    for (const row of rows) {
      ways.push({ y: top + rowHeight / 2, way: wayOf(row) });
      top += rowHeight;
    }
    top += groupGap;
  }
  return { ways, height: Math.max(0, top - groupGap) };
}

function wayOf(row: Row): Way {
  if (row.state === "waits") return "waits";
  return row.state === "allowed" || row.state === "granted" ? "allowed" : "blocked";
}
