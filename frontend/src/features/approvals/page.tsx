import { getRouteApi } from "@tanstack/react-router";
import { useLink } from "@/api/events";
import { useT } from "@/lib/i18n";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { Tabs } from "@/ui/tabs";
import { GrantsList } from "./grants-list";
import { WaitingList } from "./waiting-list";

const route = getRouteApi("/approvals");

/** ApprovalsPage is the questions that wait, and the permissions that were given. */
export function ApprovalsPage() {
  const t = useT();
  const link = useLink();
  const permissions = route.useSearch().tab === "permissions";
  return (
    <Page title={t("nav.approvals")} beside={<LiveChip link={link} />}>
      <div className="flex h-full flex-col">
        <Tabs
          label={t("nav.approvals")}
          tabs={[
            { name: t("approvals.tab.waiting"), on: !permissions, search: {} },
            { name: t("approvals.tab.permissions"), on: permissions, search: { tab: "permissions" } },
          ]}
        />
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="mx-auto flex max-w-[860px] flex-col gap-6 px-6 py-6">
            {permissions ? <GrantsList /> : <WaitingList compact={false} />}
          </div>
        </div>
      </div>
    </Page>
  );
}
