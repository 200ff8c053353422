import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { useCalls, useOlderCalls } from "@/api/calls";
import { useLink } from "@/api/events";
import { useStatus } from "@/api/system";
import { useLocale, useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { Chip } from "@/ui/chip";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { CallPanel } from "./call-panel";
import { CallsTable } from "./calls-table";
import { FilterBar } from "./filter-bar";
import { matches } from "./filter";

const route = getRouteApi("/calls");

/** CallsPage is every call as it happens. The filter and the chosen call stand in the address. */
export function CallsPage() {
  const t = useT();
  const locale = useLocale();
  const link = useLink();
  const { q, show, call } = route.useSearch();
  const navigate = useNavigate({ from: "/calls" });
  const list = useCalls();
  const today = useStatus().data?.calls_today;
  const all = list.data?.calls;
  const shown = useMemo(() => (all ?? []).filter((c) => matches(c, q, show)), [all, q, show]);
  const older = useOlder(Boolean(list.data?.next));
  const choose = useCallback(
    (id: string | undefined) => void navigate({ search: (s) => ({ ...s, call: id }), replace: true }),
    [navigate],
  );

  return (
    <Page
      title={t("nav.calls")}
      beside={
        <>
          <LiveChip link={link} />
          {today !== undefined && <Chip>{t("calls.today", { n: today.toLocaleString(locale) })}</Chip>}
        </>
      }
      actions={
        <FilterBar q={q} show={show} change={(next) => void navigate({ search: (s) => ({ ...s, ...next }), replace: true })} />
      }
    >
      <div className="flex h-full">
        <div className="@container min-w-0 flex-1">
          {list.isPending && <Bones rows={14} />}
          {list.isError && !all && (
            <div className="p-6">
              <Failure told={tell(list.error)} retry={() => void list.refetch()} />
            </div>
          )}
          {all?.length === 0 && <EmptyState title={t("calls.empty")} body={t("calls.empty.body")} />}
          {all && all.length > 0 && shown.length === 0 && !list.data?.next && (
            <EmptyState title={t("calls.noMatch")} body={t("calls.noMatch.body", { n: all.length })}>
              <Button onClick={() => void navigate({ search: {}, replace: true })}>{t("calls.clear")}</Button>
            </EmptyState>
          )}
          {all && (shown.length > 0 || list.data?.next) && all.length > 0 && (
            <CallsTable calls={shown} chosen={call} choose={(c) => choose(c.id)} end={older.more} foot={<Foot older={older} />} />
          )}
        </div>
        {call && <CallPanel key={call} id={call} close={() => choose(undefined)} />}
      </div>
    </Page>
  );
}

type Older = ReturnType<typeof useOlder>;

/** useOlder loads older calls, one page at a time, when the end comes into sight. */
function useOlder(there: boolean) {
  const older = useOlderCalls();
  const { mutate, isPending, isError } = older;
  const more = useCallback(() => {
    if (there && !isPending && !isError) mutate();
  }, [there, isPending, isError, mutate]);
  return { more, there, isPending, isError, again: () => mutate() };
}

function Foot({ older }: { older: Older }) {
  const t = useT();
  if (older.isPending) return <span role="status">{t("calls.loadingOlder")}</span>;
  if (older.there) {
    return (
      <Button small onClick={older.again}>
        {t("calls.older")}
      </Button>
    );
  }
  return <span>{t("calls.end")}</span>;
}
