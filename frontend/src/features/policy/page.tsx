import { getRouteApi } from "@tanstack/react-router";
import { useLink } from "@/api/events";
import { usePolicy } from "@/api/policy";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { Failure, tell } from "@/ui/failure";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { Tabs } from "@/ui/tabs";
import { ExplainView } from "./explain-view";
import { FileState } from "./file-state";
import { ReplayView } from "./replay-view";
import { RulesView } from "./rules-view";

const route = getRouteApi("/policy");

/** PolicyPage is the person's own rules: what they say, what is wrong with them, what they would do. */
export function PolicyPage() {
  const t = useT();
  const link = useLink();
  const policy = usePolicy();
  const { tab = "rules" } = route.useSearch();
  return (
    <Page title={t("nav.policy")} beside={<LiveChip link={link} />}>
      <div className="flex h-full flex-col">
        <Tabs
          label={t("nav.policy")}
          tabs={[
            { name: t("policy.tab.rules"), on: tab === "rules", search: {} },
            { name: t("policy.tab.explain"), on: tab === "explain", search: { tab: "explain" } },
            { name: t("policy.tab.replay"), on: tab === "replay", search: { tab: "replay" } },
          ]}
        />
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="mx-auto flex max-w-[860px] flex-col gap-5 px-6 py-6">
            {policy.isPending && <Bones rows={6} />}
            {policy.isError && !policy.data && <Failure told={tell(policy.error)} retry={() => void policy.refetch()} />}
            {policy.data && (
              <>
                <FileState policy={policy.data} />
                {tab === "explain" ? <ExplainView /> : tab === "replay" ? <ReplayView /> : <RulesView policy={policy.data} />}
              </>
            )}
          </div>
        </div>
      </div>
    </Page>
  );
}
