import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useLink } from "@/api/events";
import { useServers } from "@/api/servers";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { CopyCommand } from "@/ui/copy-command";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { ServerPanel } from "./server-panel";
import { ServersTable } from "./servers-table";

const route = getRouteApi("/servers");

/** ServersPage is every configured server: what it is, how it stands, and what holds it. */
export function ServersPage() {
  const t = useT();
  const link = useLink();
  const servers = useServers();
  const { server: name, tab } = route.useSearch();
  const navigate = useNavigate({ from: "/servers" });
  const choose = (server?: string) => void navigate({ search: (s) => ({ ...s, server, tab: server && s.tab }), replace: true });
  const chosen = servers.data?.find((s) => s.name === name);
  return (
    <Page title={t("nav.servers")} beside={<LiveChip link={link} />}>
      <div className="flex h-full">
        <div className="@container min-w-0 flex-1 overflow-y-auto">
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
          {servers.data && servers.data.length > 0 && <ServersTable servers={servers.data} chosen={name} choose={choose} />}
        </div>
        {chosen && (
          <ServerPanel
            key={chosen.name}
            server={chosen}
            tab={tab ?? "overview"}
            setTab={(next) => void navigate({ search: (s) => ({ ...s, tab: next }), replace: true })}
            close={() => choose()}
          />
        )}
      </div>
    </Page>
  );
}
