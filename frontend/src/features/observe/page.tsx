import { getRouteApi, Link } from "@tanstack/react-router";
import { useLink } from "@/api/events";
import { useObservation } from "@/api/observe";
import { useServers } from "@/api/servers";
import type { Server } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { CopyCommand } from "@/ui/copy-command";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { BeginView } from "./begin-view";
import { ProposalView } from "./proposal-view";
import { WatchView } from "./watch-view";

const route = getRouteApi("/servers/observe");

/** ObservePage is a server that the person watches: to begin, what it does meanwhile, and the least it needs. */
export function ObservePage() {
  const t = useT();
  const link = useLink();
  const { server: name } = route.useSearch();
  const servers = useServers();
  const server = servers.data?.find((s) => s.name === name);
  return (
    <Page title={t("observe.title")} beside={<LiveChip link={link} />}>
      <div className="h-full overflow-y-auto">
        {servers.isPending && <Bones rows={7} />}
        {servers.isError && !servers.data && (
          <div className="p-6">
            <Failure told={tell(servers.error)} retry={() => void servers.refetch()} />
          </div>
        )}
        {servers.data?.length === 0 && (
          <EmptyState title={t("servers.empty")} body={t("servers.empty.body")}>
            <CopyCommand command="garita import --from claude-desktop --rewire" />
          </EmptyState>
        )}
        {servers.data && servers.data.length > 0 && !server && <Choose servers={servers.data} />}
        {server && <Observed key={server.name} server={server} />}
      </div>
    </Page>
  );
}

/** Choose is for who came without naming a server. */
function Choose({ servers }: { servers: Server[] }) {
  const t = useT();
  return (
    <div className="mx-auto flex max-w-[640px] flex-col gap-3 px-6 py-6 max-[480px]:px-3.5">
      <p className="m-0 text-pretty text-ink2">{t("observe.choose")}</p>
      <ul className="m-0 flex list-none flex-col divide-y divide-line rounded-xl border border-line bg-surface p-0">
        {servers.map((s) => (
          <li key={s.name}>
            <Link
              to="/servers/observe"
              search={{ server: s.name }}
              className="block px-5 py-2.5 font-[550] text-ink no-underline hover:underline"
            >
              <Foreign text={s.name} />
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Observed({ server }: { server: Server }) {
  const t = useT();
  const found = useObservation(server.name);
  const now = found.data;
  return (
    <div className="mx-auto flex max-w-[1040px] flex-col gap-4 px-6 py-5 max-[480px]:px-3.5">
      <p className="m-0 text-ink2">
        <Link to="/servers" search={{ server: server.name }} className="text-info no-underline hover:underline">
          <Foreign text={server.name} />
        </Link>
        <span aria-hidden> · </span>
        {t(
          now?.state === "observing"
            ? "observe.state.observing"
            : now?.state === "ended"
              ? "observe.state.ended"
              : "observe.state.none",
        )}
      </p>
      {found.isPending && <Bones rows={5} />}
      {found.isError && !now && <Failure told={tell(found.error)} retry={() => void found.refetch()} />}
      {now?.state === "none" && <BeginView server={server} />}
      {now?.state === "observing" && <WatchView observation={now} />}
      {now?.state === "ended" && <ProposalView observation={now} />}
    </div>
  );
}
