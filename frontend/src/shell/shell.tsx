import { getRouteApi, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useStatus } from "@/api/system";
import { ApprovalDialog } from "@/features/approvals/approval-dialog";
import { CompactApprovals } from "@/features/approvals/compact-page";
import { GroupDialog } from "@/features/approvals/group-dialog";
import { useT } from "@/lib/i18n";
import { useMedia } from "@/lib/use-media";
import { PageStart } from "@/ui/page";
import { PagesMenu } from "./pages-menu";
import { Palette } from "./palette";
import { Rail } from "./rail";
import { useOpenRequests } from "./use-open-requests";

const root = getRouteApi("__root__");

/** Shell is what stays while pages change: the rail, the search, and the question under review,
 * which opens over whatever page is there. Very narrow, it shows what waits and nothing else, and the
 * other pages when they are gone to. */
export function Shell() {
  const t = useT();
  const { review, group } = root.useSearch();
  const navigate = useNavigate();
  const compact = useMedia("(max-width: 480px)");
  const first = useRouterState({ select: (s) => s.location.pathname === "/" });
  const [searching, setSearching] = useState(false);
  const status = useStatus();
  const waiting = status.data?.waiting ?? 0;
  useOpenRequests();

  useEffect(() => {
    document.title = waiting > 0 ? `(${waiting}) Garita` : "Garita";
  }, [waiting]);

  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "k") return;
      e.preventDefault();
      if (!document.querySelector("dialog[open]")) setSearching(true);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);

  return (
    <div className={compact ? "flex h-full flex-col" : "grid h-full grid-cols-[208px_1fr] max-[900px]:grid-cols-[56px_1fr]"}>
      <a href="#page" className="absolute -top-20 left-2 z-50 rounded-lg bg-ink px-3 py-2 text-bg focus:top-2">
        {t("nav.skip")}
      </a>
      {!compact && <Rail search={() => setSearching(true)} />}
      <main id="page" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col outline-none">
        <PageStart value={compact && <PagesMenu />}>{compact && first ? <CompactApprovals /> : <Outlet />}</PageStart>
      </main>
      {searching && <Palette close={() => setSearching(false)} />}
      {review && (
        <ApprovalDialog
          key={review}
          id={review}
          close={() => void navigate({ to: ".", search: (s) => ({ ...s, review: undefined }) })}
        />
      )}
      {group && !review && (
        <GroupDialog
          key={group}
          id={group}
          close={() => void navigate({ to: ".", search: (s) => ({ ...s, group: undefined }) })}
        />
      )}
    </div>
  );
}
