import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useLink } from "@/api/events";
import { useWorkspaces } from "@/api/workspaces";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { EmptyState } from "@/ui/empty-state";
import { Failure, tell } from "@/ui/failure";
import { LiveChip } from "@/ui/live-chip";
import { Page } from "@/ui/page";
import { WorkspaceList } from "./workspace-list";
import { WorkspaceView } from "./workspace-view";

const route = getRouteApi("/workspaces");

/** WorkspacesPage is what agents wrote that is not yet in the person's files. */
export function WorkspacesPage() {
  const t = useT();
  const link = useLink();
  const found = useWorkspaces();
  const { workspace: id, file } = route.useSearch();
  const navigate = useNavigate({ from: "/workspaces" });
  const all = found.data ?? [];
  const chosen = all.find((w) => w.id === id) ?? all[0];
  return (
    <Page title={t("nav.workspaces")} beside={<LiveChip link={link} />}>
      {found.isPending && <Bones rows={5} />}
      {found.isError && !found.data && (
        <div className="p-6">
          <Failure told={tell(found.error)} retry={() => void found.refetch()} />
        </div>
      )}
      {found.data && !chosen && <EmptyState title={t("workspaces.empty")} body={t("workspaces.empty.body")} />}
      {chosen && (
        <div className="flex h-full max-[760px]:flex-col">
          <WorkspaceList
            workspaces={all}
            chosen={chosen.id}
            choose={(w) => void navigate({ search: (s) => ({ ...s, workspace: w, file: undefined }) })}
          />
          <WorkspaceView
            key={chosen.id}
            workspace={chosen}
            file={file}
            choose={(f) => void navigate({ search: (s) => ({ ...s, file: f }), replace: true })}
          />
        </div>
      )}
    </Page>
  );
}
