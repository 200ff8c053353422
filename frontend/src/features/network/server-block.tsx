import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { useApprovals } from "@/api/approvals";
import type { Network, Server } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Button } from "@/ui/button";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { AddHost } from "./add-host";
import { ChangedKey } from "./changed-key";
import { Connections } from "./connections";
import { Glance } from "./glance";
import { ReachView } from "./reach-view";
import { idle, keysOf, reachOf, triedKey } from "./rows";

/** ServerBlock is one server: what it may reach, what it was refused, and what is open. */
export function ServerBlock({ server, network }: { server: Server; network: Network }) {
  const t = useT();
  const id = useId();
  const approvals = useApprovals().data ?? [];
  const [adding, setAdding] = useState(false);
  const [said, setSaid] = useState("");
  const reach = reachOf(network, approvals);
  const none = idle(reach);
  return (
    <section aria-labelledby={id} className={none ? "" : "rounded-xl border border-line bg-surface"}>
      <div className="flex items-center gap-3 px-5 py-2.5">
        <div className={cx("min-w-0 flex-1", none && "flex flex-wrap items-baseline gap-x-4")}>
          <h2 id={id} className={cx("m-0 truncate font-[620]", none ? "min-w-[132px] text-base" : "text-md")}>
            <Link to="/servers" search={{ server: server.name }} className="text-ink no-underline hover:underline">
              <Foreign text={server.name} />
            </Link>
          </h2>
          <p className="m-0 text-pretty text-ink2">
            {none && <>{t("network.nothing")} </>}
            {t(network.none ? "network.nothingAtAll" : network.ask ? "network.asks" : "network.refuses")}
          </p>
        </div>
        {!none && <Glance reach={reach} live={network.live.length} />}
        <Button
          small
          aria-expanded={adding}
          aria-label={`${t("network.add")}: ${visible(server.name)}`}
          onClick={() => setAdding(!adding)}
        >
          <Icon name="plus" size={13} />
          {t("network.add")}
        </Button>
      </div>
      {adding && <AddHost server={server.name} publicWeb={network.public_web} said={setSaid} close={() => setAdding(false)} />}
      <p role="status" className={said ? "m-0 px-5 pb-1 text-sm text-ink2" : "sr-only"}>
        <Foreign text={said} />
      </p>
      {!none && (
        <div className="border-t border-line">
          {network.tried
            .filter((tried) => tried.kind === "changed")
            .map((tried) => (
              <ChangedKey key={triedKey(tried)} tried={tried} known={keysOf(network, tried)} />
            ))}
          <ReachView server={server} reach={reach} said={setSaid} />
          <div className="h-2" />
        </div>
      )}
      <Connections live={network.live} />
    </section>
  );
}
