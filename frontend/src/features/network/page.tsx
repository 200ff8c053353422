import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useLink } from "@/api/events";
import { useNetworks } from "@/api/network";
import { useServers } from "@/api/servers";
import type { Network, Server } from "@/api/types";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Bones } from "@/ui/bones";
import { CopyCommand } from "@/ui/copy-command";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { Select } from "@/ui/select";
import { ServerBlock } from "./server-block";

const route = getRouteApi("/network");

/** NetworkPage is what each server may reach, reaches now, and was refused by the wall. */
export function NetworkPage() {
  const t = useT();
  const link = useLink();
  const servers = useServers();
  const { server: only } = route.useSearch();
  const navigate = useNavigate({ from: "/network" });
  const all = servers.data ?? [];
  const chosen = all.filter((s) => !only || s.name === only);
  return (
    <Page
      title={t("nav.network")}
      beside={<LiveChip link={link} />}
      actions={
        all.length > 1 && (
          <Select
            aria-label={t("network.server")}
            value={only ?? ""}
            onChange={(e) => void navigate({ search: { server: e.target.value || undefined }, replace: true })}
          >
            <option value="">{t("network.server.all")}</option>
            {all.map((s) => (
              <option key={s.name} value={s.name}>
                {visible(s.name)}
              </option>
            ))}
          </Select>
        )
      }
    >
      <div className="h-full overflow-y-auto">
        {servers.isPending && <Bones rows={7} />}
        {servers.isError && !servers.data && (
          <div className="p-6">
            <Failure told={tell(servers.error)} retry={() => void servers.refetch()} />
          </div>
        )}
        {servers.data?.length === 0 && (
          <EmptyState title={t("network.empty")} body={t("network.empty.body")}>
            <CopyCommand command="garita import --from claude-desktop --rewire" />
          </EmptyState>
        )}
        {chosen.length > 0 && <Blocks servers={chosen} />}
      </div>
    </Page>
  );
}

/** Blocks are the servers, those first that reach or have tried anything. */
function Blocks({ servers }: { servers: Server[] }) {
  const networks = useNetworks(servers.map((s) => s.name));
  if (networks.every((n) => n.isPending)) return <Bones rows={7} />;
  const failed = networks.find((n) => n.isError && !n.data);
  const found = servers.flatMap((server, i) => (networks[i]?.data ? [{ server, network: networks[i].data }] : []));
  const [drawn, idle] = [found.filter((f) => busy(f.network)), found.filter((f) => !busy(f.network))];
  return (
    <div className="mx-auto flex max-w-[980px] flex-col gap-4 px-6 py-6 max-[620px]:px-3">
      {failed && <Failure told={tell(failed.error)} retry={() => networks.forEach((n) => n.isError && void n.refetch())} />}
      {drawn.map((f) => (
        <ServerBlock key={f.server.name} {...f} />
      ))}
      {idle.length > 0 && (
        <div className="divide-y divide-line rounded-xl border border-line bg-surface">
          {idle.map((f) => (
            <ServerBlock key={f.server.name} {...f} />
          ))}
        </div>
      )}
    </div>
  );
}

function busy(n: Network): boolean {
  return (
    n.public_web || n.allow.length + n.lan.length + n.host_ports.length + n.granted.length + n.tried.length + n.deny.length > 0
  );
}
