import { Link } from "@tanstack/react-router";
import { useNetworks } from "@/api/network";
import type { Network } from "@/api/types";
import { useT, type Translate } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";

const most = 4;

/** ServerReach is the hosts that a server reaches, in a line, and the way to the page about them. */
export function ServerReach({ name }: { name: string }) {
  const t = useT();
  const network = useNetworks([name])[0]!.data;
  const hosts = network ? hostsOf(network, t) : [];
  const waits = network?.tried.length ?? 0;
  return (
    <div className="flex flex-col gap-0.5">
      {network && hosts.length === 0 && <span className="text-ink2">{t("servers.reaches.none")}</span>}
      {hosts.slice(0, most).map((h) => (
        <Foreign key={h} text={h} className="font-mono text-sm" />
      ))}
      <Link to="/network" search={{ server: name }} className="text-sm text-info no-underline hover:underline">
        {hosts.length > most ? t("common.more", { n: hosts.length - most }) : t("servers.reaches.page")}
        {waits > 0 && ` · ${t("servers.reaches.blocked", { n: waits })}`}
      </Link>
    </div>
  );
}

function hostsOf(n: Network, t: Translate): string[] {
  return [
    ...(n.public_web ? [t("network.public")] : []),
    ...n.allow,
    ...n.lan,
    ...n.host_ports.map((port) => t("network.machine", { port })),
    ...n.granted.map((g) => g.host),
  ];
}
