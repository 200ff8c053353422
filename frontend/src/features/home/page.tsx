import { Link } from "@tanstack/react-router";
import { useApprovals } from "@/api/approvals";
import { useCalls } from "@/api/calls";
import { useLink } from "@/api/events";
import { useServers } from "@/api/servers";
import { useStatus } from "@/api/system";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { CopyCommand } from "@/ui/copy-command";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { Said } from "@/ui/said";
import { CallBars } from "./call-bars";
import { Card } from "./card";
import { PromptsView } from "./prompts-view";
import { RefusedList } from "./refused-list";
import { RunningList } from "./running-list";

/** HomePage is the state of things at a glance: what waits, what runs, how calls were decided. */
export function HomePage() {
  const t = useT();
  const link = useLink();
  const status = useStatus();
  const servers = useServers();
  return (
    <Page title={t("nav.home")} beside={<LiveChip link={link} />}>
      <div className="h-full overflow-y-auto">
        {status.isPending && <Bones rows={6} />}
        {status.isError && !status.data && (
          <div className="p-6">
            <Failure told={tell(status.error)} retry={() => void status.refetch()} />
          </div>
        )}
        {status.data &&
          (status.data.servers === 0 ? <Welcome /> : <Glance warnings={status.data.warnings} servers={servers.data ?? []} />)}
      </div>
    </Page>
  );
}

function Welcome() {
  const t = useT();
  return (
    <EmptyState title={t("welcome.title")} body={t("welcome.body")}>
      <div className="flex flex-col gap-2 text-left">
        <span className="text-sm text-ink3">{t("welcome.step1")}</span>
        <CopyCommand command="garita import --from claude-desktop --dry-run" />
        <span className="mt-1 text-sm text-ink3">{t("welcome.step2")}</span>
        <CopyCommand command="garita import --from claude-desktop --rewire" />
      </div>
    </EmptyState>
  );
}

function Glance({ warnings, servers }: { warnings: string[]; servers: Parameters<typeof RunningList>[0]["servers"] }) {
  const t = useT();
  const calls = useCalls().data?.calls ?? [];
  const status = useStatus().data;
  const today = status?.calls_today ?? 0;
  return (
    <div className="mx-auto flex max-w-[1040px] flex-col gap-4 px-6 py-6">
      <Waiting />
      {warnings.length > 0 && (
        <Card label={t("home.warnings")}>
          <ul className="m-0 flex list-none flex-col gap-1.5 p-0">
            {warnings.map((w) => (
              <li key={w} className="flex gap-2">
                <Icon name="warn" size={14} className="mt-0.5 text-ink3" />
                <Said text={w} />
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Card
        label={t("home.calls", { n: calls.length })}
        beside={
          <Link to="/calls" className="text-info no-underline hover:underline">
            {t("home.today", { n: today })}
          </Link>
        }
      >
        <CallBars calls={calls} />
      </Card>
      <div className="grid grid-cols-2 gap-4 max-[1080px]:grid-cols-1">
        <Card label={t("home.running")}>
          <RunningList servers={servers} />
        </Card>
        {status?.prompts && (
          <Card label={t("home.prompts")}>
            <PromptsView prompts={status.prompts} />
          </Card>
        )}
        <Card label={t("home.recent")}>
          <RefusedList calls={calls} />
        </Card>
      </div>
    </div>
  );
}

function Waiting() {
  const t = useT();
  const waiting = useApprovals().data ?? [];
  if (waiting.length === 0) {
    return (
      <div className="flex items-center gap-3 rounded-xl border border-line bg-surface px-5 py-4">
        <span className="grid size-8 shrink-0 place-items-center rounded-full bg-ok-bg text-ok">
          <Icon name="check" />
        </span>
        <div>
          <h2 className="m-0 text-lg font-[620] tracking-[-0.01em]">{t("home.nothing")}</h2>
          <p className="m-0 text-ink2">{t("home.nothing.body")}</p>
        </div>
      </div>
    );
  }
  return (
    <div className="rounded-xl border border-wait-line bg-wait-bg px-5 py-4">
      <h2 className="m-0 mb-1.5 text-lg font-[620] tracking-[-0.01em]">{t("home.waiting", { n: waiting.length })}</h2>
      <ul className="m-0 flex list-none flex-col p-0">
        {waiting.slice(0, 4).map((a) => (
          <li key={a.id} className="flex items-center gap-3 border-t border-wait-line/60 py-2 first:border-t-0">
            <span className="min-w-0 flex-1">
              <Said text={a.title} className="font-[550]" />
              <span className="text-ink2"> · </span>
              <Foreign text={a.object} className="font-mono text-sm" />
            </span>
            <Link
              to="."
              search={(s) => ({ ...s, review: a.id })}
              aria-label={`${t("home.review")}: ${a.title}`}
              className="rounded-lg border border-line2 bg-raised px-3 py-1 text-sm font-[580] text-ink no-underline hover:border-ink3"
            >
              {t("home.review")}
            </Link>
          </li>
        ))}
      </ul>
      {waiting.length > 4 && (
        <Link to="/approvals" className="text-info no-underline hover:underline">
          {t("home.more", { n: waiting.length - 4 })}
        </Link>
      )}
    </div>
  );
}
