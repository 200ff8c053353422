import { Tabs } from "radix-ui";
import { useStopServer } from "@/api/servers";
import type { Server } from "@/api/types";
import { useT, type Key } from "@/lib/i18n";
import { Button } from "@/ui/button";
import { tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Panel } from "@/ui/panel";
import { StateDot } from "@/ui/state-dot";
import { PinsView } from "./pins-view";
import { ServerLog } from "./server-log";
import { ServerOverview } from "./server-overview";
import { UpdateView } from "./update-view";

interface Props {
  server: Server;
  tab: string;
  setTab: (tab: string) => void;
  close: () => void;
}

const tabs = ["overview", "pins", "update", "log"] as const;

/** ServerPanel is one server's details, what it shows of itself, its log, and the button that stops it. */
export function ServerPanel({ server, tab, setTab, close }: Props) {
  const t = useT();
  const stop = useStopServer();
  // Only what runs from a package has newer versions.
  const shown = tabs.filter((name) => name !== "update" || server.package);
  const runs = server.instances.length > 0;
  return (
    <Panel
      label={server.name}
      close={close}
      title={
        <div className="flex items-center gap-2.5">
          <h2 className="m-0 min-w-0 truncate text-md font-[620]">
            <Foreign text={server.name} />
          </h2>
          <span className="flex items-center gap-1.5 text-ink2">
            <StateDot state={server.state} />
            {t(`state.${server.state}` as Key)}
          </span>
          <span className="flex-1" />
          {runs && (
            <Button
              small
              look="danger"
              disabled={stop.isPending}
              title={t("servers.stop.long")}
              onClick={() => stop.mutate(server.name)}
            >
              {t("servers.stop")}
            </Button>
          )}
        </div>
      }
    >
      {stop.error && (
        <p role="alert" className="m-0 border-b border-line bg-no-bg px-5 py-2 text-no">
          <Foreign text={[tell(stop.error).title, tell(stop.error).detail].filter(Boolean).join(": ")} />
        </p>
      )}
      <Tabs.Root value={tab} onValueChange={setTab}>
        <Tabs.List aria-label={server.name} className="sticky top-0 z-10 flex gap-4 border-b border-line bg-surface px-5">
          {shown.map((name) => (
            <Tabs.Trigger
              key={name}
              value={name}
              className="-mb-px border-b-2 border-transparent py-2 text-ink2 hover:text-ink data-[state=active]:border-ink data-[state=active]:font-[550] data-[state=active]:text-ink"
            >
              {t(`servers.${name}`)}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value="overview" tabIndex={-1}>
          <ServerOverview server={server} />
        </Tabs.Content>
        <Tabs.Content value="pins" tabIndex={-1}>
          <PinsView name={server.name} />
        </Tabs.Content>
        <Tabs.Content value="update" tabIndex={-1}>
          <UpdateView server={server} />
        </Tabs.Content>
        <Tabs.Content value="log" tabIndex={-1}>
          <ServerLog name={server.name} />
        </Tabs.Content>
      </Tabs.Root>
    </Panel>
  );
}
