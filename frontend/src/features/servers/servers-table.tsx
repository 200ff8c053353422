import { useProgress } from "@/api/servers";
import type { Server } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT, type Key } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { StateDot } from "@/ui/state-dot";
import { ProgressRow } from "./progress-row";
import { packageOf } from "./package";

const head = "px-2.5 py-[7px] text-left text-sm font-normal text-ink3";

interface Props {
  servers: Server[];
  chosen: string | undefined;
  choose: (name: string) => void;
}

/** ServersTable is one row a server; its name opens the details. */
export function ServersTable({ servers, chosen, choose }: Props) {
  const t = useT();
  return (
    <table aria-label={t("servers.table")} className="w-full table-fixed border-collapse">
      <colgroup>
        <col className="w-[190px] @max-[640px]:w-auto" />
        <col className="w-[150px]" />
        <col className="@max-[560px]:hidden" />
        <col className="w-[170px] @max-[780px]:hidden" />
        <col className="w-[150px] @max-[960px]:hidden" />
      </colgroup>
      <thead>
        <tr className="border-b border-line">
          <th scope="col" className={`${head} pl-5`}>
            {t("servers.name")}
          </th>
          <th scope="col" className={head}>
            {t("servers.state")}
          </th>
          <th scope="col" className={`${head} @max-[560px]:hidden`}>
            {t("servers.runs")}
          </th>
          <th scope="col" className={`${head} @max-[780px]:hidden`}>
            {t("servers.workspace")}
          </th>
          <th scope="col" className={`${head} @max-[960px]:hidden`}>
            {t("servers.limits")}
          </th>
        </tr>
      </thead>
      {servers.map((s) => (
        <ServerRow key={s.name} server={s} chosen={s.name === chosen} choose={choose} />
      ))}
    </table>
  );
}

function ServerRow({ server, chosen, choose }: { server: Server; chosen: boolean; choose: (name: string) => void }) {
  const t = useT();
  const progress = useProgress(server);
  const cell = "truncate px-2.5 py-0";
  return (
    <tbody className={cx("border-b border-line", chosen ? "bg-raised shadow-[inset_3px_0_0_var(--focus)]" : "hover:bg-hover")}>
      <tr className="relative h-[46px]">
        <th scope="row" className={cx(cell, "pl-5 text-left font-[550]")}>
          <button
            type="button"
            onClick={() => choose(server.name)}
            className="text-left after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:outline-offset-[-2px] focus-visible:after:outline-focus"
          >
            <Foreign text={server.name} />
          </button>
          {server.notices.length > 0 && <Icon name="warn" size={13} className="ml-1.5 inline text-ink3" />}
        </th>
        <td className={cell}>
          <span className="flex items-center gap-2">
            <StateDot state={server.state} />
            {t(`state.${server.state}` as Key)}
            {server.instances.length > 1 && <span className="tabular text-ink3">× {server.instances.length}</span>}
          </span>
        </td>
        <td className={cx(cell, "@max-[560px]:hidden", progress && "py-2")}>
          <span className="block truncate font-mono text-sm text-ink2">
            <Foreign text={packageOf(server).name} />
          </span>
          {progress ? (
            <ProgressRow progress={progress} />
          ) : (
            server.reason && (
              <Foreign
                text={server.reason}
                className={cx("block truncate text-sm", server.state === "failed" ? "text-no" : "text-ink3")}
              />
            )
          )}
        </td>
        <td className={cx(cell, "@max-[780px]:hidden")}>
          <span className={server.workspace === "direct" ? "text-no" : "text-ink2"}>{t(`mode.${server.workspace}` as Key)}</span>
        </td>
        <td className={cx(cell, "text-ink2 @max-[960px]:hidden")}>
          {server.limits
            .slice(0, 2)
            .map((l) => l.value)
            .join(" · ")}
        </td>
      </tr>
    </tbody>
  );
}
