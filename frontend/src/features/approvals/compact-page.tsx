import { useApprovals } from "@/api/approvals";
import { useLink } from "@/api/events";
import { useT } from "@/lib/i18n";
import { LiveChip } from "@/ui/live-chip";
import { Mark } from "@/ui/mark";
import { Page } from "@/ui/page";
import { WaitingList } from "./waiting-list";

/** CompactApprovals is all the small window shows: what waits. */
export function CompactApprovals() {
  const t = useT();
  const link = useLink();
  const waiting = useApprovals().data ?? [];
  return (
    <Page title={t("nav.approvals")} beside={<LiveChip link={link} />} actions={<Mark lit={waiting.length > 0} />}>
      <div className="flex h-full flex-col gap-5 overflow-y-auto p-3">
        <WaitingList compact />
      </div>
    </Page>
  );
}
