import { Link } from "@tanstack/react-router";
import { useProgress } from "@/api/servers";
import type { Instance, Limit, Server, Tool } from "@/api/types";
import { clock } from "@/lib/format";
import { useT, type Key } from "@/lib/i18n";
import { Facts } from "@/ui/facts";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { Section } from "@/ui/section";
import { StateDot } from "@/ui/state-dot";
import { ServerReach } from "./server-reach";
import { ServerSecrets } from "./server-secrets";
import { packageOf } from "./package";
import { ProgressRow } from "./progress-row";

/** leastWords is how a server that is or was watched stands. */
function leastWords(observed: string): Key {
  return observed === "observing" ? "servers.least.observing" : "servers.least.ended";
}

const mono = "font-mono text-sm";

/** ServerOverview is what a server is and what holds it. */
export function ServerOverview({ server }: { server: Server }) {
  const t = useT();
  const progress = useProgress(server);
  const { name, integrity } = packageOf(server);
  return (
    <>
      {progress && (
        <Section>
          <ProgressRow progress={progress} />
        </Section>
      )}
      <Section>
        <Facts
          facts={[
            [t("servers.command"), <Foreign key="c" text={server.url ?? server.command.join(" ")} className={mono} />],
            [
              server.image ? t("servers.image") : t("servers.package"),
              (server.package || server.image) && <Foreign text={name} className={mono} />,
            ],
            [t("servers.integrity"), integrity && <Foreign text={integrity} className={`${mono} text-ink2`} />],
            [t("servers.workspace"), t(`mode.${server.workspace}` as Key)],
            [
              t("servers.folders"),
              server.folders.length ? (
                <Paths paths={server.folders} />
              ) : (
                <span className="text-ink2">{t("servers.folders.none")}</span>
              ),
            ],
            [t("servers.reaches"), <ServerReach key="r" name={server.name} />],
            [t("servers.secrets"), <ServerSecrets key="x" name={server.name} />],
            [t("servers.executes"), server.exec && <Executes key="e" rules={server.exec} />],
            [t("servers.clients"), server.clients.length > 0 && <Paths paths={server.clients} />],
            [
              t("servers.state"),
              server.reason && <Foreign text={server.reason} className={server.state === "failed" ? "text-no" : ""} />,
            ],
          ]}
        />
      </Section>
      {!server.url && (
        <Section label={t("servers.least")}>
          <div className="flex items-center justify-between gap-4">
            <p className="m-0 text-pretty text-ink2">{t(server.observed ? leastWords(server.observed) : "servers.least.body")}</p>
            <Link
              to="/servers/observe"
              search={{ server: server.name }}
              className="flex shrink-0 items-center gap-1.5 rounded-lg border border-line2 bg-raised px-2.5 py-1 text-sm font-[580] text-ink no-underline hover:border-ink3"
            >
              <Icon name="eye" size={13} />
              {t(server.observed ? "servers.least.look" : "servers.least.watch")}
            </Link>
          </div>
        </Section>
      )}
      {server.notices.length > 0 && (
        <Section label={t("servers.notices")}>
          <ul className="m-0 flex list-none flex-col gap-1.5 p-0">
            {server.notices.map((n) => (
              <li key={n} className="flex gap-2">
                <Icon name="warn" size={14} className="mt-0.5 text-ink3" />
                <Foreign text={n} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section label={t("servers.limits")}>
        <Limits limits={server.limits} />
      </Section>
      <Section label={t("servers.sandboxes")}>
        <Sandboxes instances={server.instances} />
      </Section>
      <Section label={t("servers.tools")}>
        <Tools tools={server.tools} />
      </Section>
    </>
  );
}

function Paths({ paths }: { paths: string[] }) {
  return (
    <ul className="m-0 flex list-none flex-col gap-0.5 p-0">
      {paths.map((p) => (
        <li key={p}>
          <Foreign text={p} className={mono} />
        </li>
      ))}
    </ul>
  );
}

/** Executes is which programs a server may execute, the strongest rules first. */
function Executes({ rules }: { rules: NonNullable<Server["exec"]> }) {
  const t = useT();
  return (
    <ul className="m-0 flex list-none flex-col gap-0.5 p-0">
      {(["deny", "ask", "allow"] as const).flatMap((verb) =>
        rules[verb].map((pattern) => (
          <li key={`${verb} ${pattern}`} className="flex flex-wrap items-baseline gap-x-2">
            <Foreign text={pattern} className={mono} />
            <span className="text-sm text-ink3">{t(`servers.executes.${verb}`)}</span>
          </li>
        )),
      )}
    </ul>
  );
}

function Limits({ limits }: { limits: Limit[] }) {
  const t = useT();
  if (limits.length === 0) return <p className="m-0 text-no">{t("common.none")}</p>;
  return (
    <table className="w-full border-collapse">
      <tbody>
        {limits.map((l) => (
          <tr key={l.name} className="[&>*]:py-0.5">
            <th scope="row" className="w-[116px] text-left font-normal text-ink2">
              {l.name}
            </th>
            <td className="tabular font-[550]">{l.value}</td>
            <td className="text-right text-sm text-ink3">{t("servers.limits.by", { by: l.by })}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Sandboxes({ instances }: { instances: Instance[] }) {
  const t = useT();
  if (instances.length === 0) return <p className="m-0 text-ink2">{t("servers.sandboxes.none")}</p>;
  return (
    <ul className="m-0 flex list-none flex-col gap-1 p-0">
      {instances.map((i) => (
        <li key={i.id} className="flex items-center gap-2.5">
          <StateDot state={i.state} />
          <span>{t(`state.${i.state}` as Key)}</span>
          <span className="min-w-0 flex-1 truncate text-ink2">
            <bdi>{t("home.agent", { agent: i.agent, time: clock(i.started) })}</bdi>
          </span>
          <code className="text-ink3">{i.id}</code>
        </li>
      ))}
    </ul>
  );
}

function Tools({ tools }: { tools: Tool[] }) {
  const t = useT();
  if (tools.length === 0) return <p className="m-0 text-ink2">{t("servers.tools.none")}</p>;
  return (
    <ul className="m-0 flex list-none flex-col gap-1 p-0">
      {tools.map((tool) => (
        <li key={tool.name} className="flex flex-wrap items-baseline gap-x-2.5">
          <Foreign text={tool.name} className={`${mono} min-w-0 flex-1`} />
          <span className={tool.demoted ? "text-wait" : "text-ink2"}>
            {tool.demoted ? t("servers.demoted") : t(`class.${tool.class}` as Key)}
          </span>
          {tool.demoted && <Foreign text={tool.demoted} className="w-full text-sm text-ink3" />}
        </li>
      ))}
    </ul>
  );
}
