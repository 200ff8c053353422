import { Link } from "@tanstack/react-router";
import type { Server } from "@/api/types";
import { clock } from "@/lib/format";
import { useT, type Key } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { StateDot } from "@/ui/state-dot";

/** RunningList is the sandboxes that are there now. */
export function RunningList({ servers }: { servers: Server[] }) {
  const t = useT();
  const running = servers.flatMap((server) => server.instances.map((instance) => ({ server, instance })));
  if (running.length === 0) return <p className="m-0 text-ink2">{t("home.running.none")}</p>;
  return (
    <ul className="m-0 list-none p-0">
      {running.map(({ server, instance }) => (
        <li key={instance.id}>
          <Link
            to="/servers"
            search={{ server: server.name }}
            className="-mx-2 flex h-[34px] items-center gap-2.5 rounded-md px-2 text-ink no-underline hover:bg-hover"
          >
            <StateDot state={instance.state} />
            <Foreign text={server.name} className="font-[550]" />
            <span className="min-w-0 flex-1 truncate text-ink2">
              <bdi>{t("home.agent", { agent: instance.agent, time: clock(instance.started) })}</bdi>
            </span>
            <span className="text-sm text-ink3">{t(`state.${instance.state}` as Key)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
