import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { clock } from "@/lib/format";
import type { NetworkSSH, NetworkTried } from "@/api/types";
import { useLocale, useT, type Key, type Locale, type Translate } from "@/lib/i18n";
import { inLanguage } from "@/lib/said";
import { visible } from "@/lib/visible";
import { Badge, type BadgeTone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Foreign } from "@/ui/foreign";
import type { IconName } from "@/ui/icon";
import type { Row } from "./rows";

/** Deeds is what can be done about a host. */
export interface Deeds {
  busy: boolean;
  allow: (rule: string) => void;
  takeBack: (rule: string) => void;
  revoke: (grant: string, host: string) => void;
  /** It is denied: nobody is asked about it any more. */
  keep: (rule: string) => void;
  /** It is asked about again. */
  forget: (rule: string) => void;
}

const looks: Record<Row["state"], [tone: BadgeTone, icon: IconName, word: Key]> = {
  allowed: ["ok", "check", "network.word.allowed"],
  granted: ["ok", "clock", "network.word.granted"],
  waits: ["wait", "dot", "decision.waiting"],
  blocked: ["no", "block", "network.word.blocked"],
  kept: ["plain", "block", "network.word.kept"],
};

const changedKey: [tone: BadgeTone, icon: IconName, word: Key] = ["no", "warn", "network.word.changed"];

/** HostRow is one host: the host, how it stands and why, and what can be done about it. */
export function HostRow({ row, deeds }: { row: Row; deeds: Deeds }) {
  const t = useT();
  const [tone, icon, word] = row.state === "blocked" && row.tried.kind === "changed" ? changedKey : looks[row.state];
  const about = aboutOf(row, t, useLocale());
  return (
    <li
      // As high as the picture beside it takes it to be: rowHeight.
      className="-mx-2 flex h-[46px] items-center gap-3 rounded-md px-2 hover:bg-hover @max-[620px]:h-auto @max-[620px]:py-1 @max-[520px]:flex-wrap @max-[520px]:gap-y-0.5"
    >
      <div className="flex min-w-0 flex-1 flex-col @max-[520px]:basis-full">
        <span className="flex items-center gap-3">
          <span className="min-w-0 flex-1 truncate leading-[1.35]">
            <Name row={row} />
          </span>
          <Badge tone={tone} icon={icon}>
            {t(word)}
          </Badge>
        </span>
        {about && (
          <span className="truncate text-sm leading-[1.35] text-ink3" title={visible(about)}>
            <Foreign text={about} />
          </span>
        )}
      </div>
      <div className="flex min-w-[192px] shrink-0 justify-end gap-1.5 @max-[620px]:min-w-0">
        <Actions row={row} deeds={deeds} />
      </div>
    </li>
  );
}

function Name({ row }: { row: Row }) {
  const t = useT();
  if (row.state === "allowed" && row.kind === "public") return <span className="font-[550]">{t("network.public")}</span>;
  if (row.state === "allowed" && row.kind === "machine")
    return <span className="font-[550]">{t("network.machine", { port: row.host.replace("localhost:", "") })}</span>;
  return (
    <span title={visible(row.host)}>
      <Foreign text={shortened(row.host)} className="font-mono text-sm" />
    </span>
  );
}

/** shortened leaves both ends of a long host: where it belongs stands at its end. All of it is in the title, and in
 * the question before it is allowed. */
function shortened(host: string): string {
  const points = [...host];
  return points.length > longest ? `${points.slice(0, 16).join("")}…${points.slice(16 - longest).join("")}` : host;
}

const longest = 52;

/** aboutOf is the line under a host: how it came to be there. */
function aboutOf(row: Row, t: Translate, locale: Locale): string {
  switch (row.state) {
    case "allowed": {
      const open = row.open > 0 ? t("network.open", { n: row.open }) : "";
      const kind = row.kind === "rule" ? "" : t(`network.kind.${row.kind}`);
      return [kind, row.ssh && sshInWords(row.ssh, t), open].filter(Boolean).join(" · ");
    }
    case "granted":
      return [row.grant.words, row.open > 0 ? t("network.open", { n: row.open }) : ""].filter(Boolean).join(" · ");
    case "waits":
      return row.approval.title;
    case "kept":
      return row.tried ? counted(row.tried, t) : t("network.kept.untried");
    default:
      return [counted(row.tried, t), plainly(row.tried, t, locale)].join(" · ");
  }
}

const counted = (tried: NetworkTried, t: Translate) => t("network.count", { n: tried.count, time: clock(tried.last) });

/** plainly is the daemon's reason without the host, which stands above it. */
function plainly({ why, host }: NetworkTried, t: Translate, locale: Locale): string {
  if (why === `${host} is not in this server's list of hosts.`) return t("network.notListed");
  const said = inLanguage(why, locale);
  return said.startsWith(`${host} `) ? said.slice(host.length + 1) : said;
}

/** sshInWords is by which keys a host may name itself that is reached by SSH, and which of the person's serve there. */
function sshInWords(ssh: NetworkSSH, t: Translate): string {
  return [
    "SSH",
    ssh.keys.length > 0 ? t("network.ssh.pinned", { n: ssh.keys.length }) : t("network.ssh.known"),
    ssh.agent.length > 0 && t("network.ssh.agent"),
  ]
    .filter(Boolean)
    .join(" · ");
}

function Actions({ row, deeds }: { row: Row; deeds: Deeds }): ReactNode {
  const t = useT();
  const host = visible(row.host);
  const name = (key: Key) => `${t(key)}: ${host}`;
  switch (row.state) {
    case "allowed":
      return row.rule ? (
        <Button
          small
          look="quiet"
          disabled={deeds.busy}
          aria-label={name("network.takeBack")}
          onClick={() => deeds.takeBack(row.rule!)}
        >
          {t("network.takeBack")}
        </Button>
      ) : (
        <span className="text-sm text-ink3">servers.yaml</span>
      );
    case "granted":
      return (
        <Button
          small
          look="quiet"
          disabled={deeds.busy}
          aria-label={name("network.takeBack")}
          onClick={() => deeds.revoke(row.grant.grant, row.host)}
        >
          {t("network.takeBack")}
        </Button>
      );
    case "waits":
      return (
        <Link
          to="."
          search={(s) => ({ ...s, review: row.approval.id })}
          aria-label={name("approvals.review")}
          className="rounded-lg border border-line2 bg-raised px-2.5 py-1 text-sm font-[580] text-ink no-underline hover:border-ink3"
        >
          {t("approvals.review")}
        </Link>
      );
    case "kept":
      return (
        <Button
          small
          look="quiet"
          disabled={deeds.busy}
          aria-label={name("network.forget")}
          onClick={() => deeds.forget(row.host)}
        >
          {t("network.forget")}
        </Button>
      );
    default:
      return (
        <>
          {row.rule && (
            <Button
              small
              disabled={deeds.busy}
              aria-label={`${t("network.allow")}: ${visible(row.rule)}`}
              onClick={() => deeds.allow(row.rule!)}
            >
              {t("network.allow")}
            </Button>
          )}
          {!row.rule && row.tried.propose && (
            <span className="self-center text-sm text-ink3" title={visible(`network: ${row.tried.propose}`)}>
              servers.yaml
            </span>
          )}
          {row.deny && (
            <Button
              small
              look="quiet"
              disabled={deeds.busy}
              aria-label={name("network.keep")}
              onClick={() => deeds.keep(row.deny!)}
            >
              {t("network.keep")}
            </Button>
          )}
        </>
      );
  }
}
