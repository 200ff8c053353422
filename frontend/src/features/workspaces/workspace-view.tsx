import { useMemo, useState } from "react";
import { useWorkspaceDiff, type WorkspaceAction } from "@/api/workspaces";
import type { FileDiff, Workspace } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { Diff } from "@/ui/diff";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { ChangeTree } from "./change-tree";
import { Confirm } from "./confirm";
import { keyOf } from "./tree";
import { Scroll } from "@/ui/scroll";

interface Props {
  workspace: Workspace;
  file: string | undefined;
  choose: (key: string) => void;
}

interface Asked {
  action: WorkspaceAction;
  files: FileDiff[];
  whole: boolean;
  seen: string;
}

/** WorkspaceView is one workspace's changes as a tree, the diff of one, and what to do with them. */
export function WorkspaceView({ workspace, file, choose }: Props) {
  const t = useT();
  const found = useWorkspaceDiff(workspace);
  const [asked, setAsked] = useState<Asked>();
  const [done, setDone] = useState<string>();
  const files = useMemo(() => found.data?.files ?? [], [found.data]);
  const chosen = files.find((f) => keyOf(f) === file) ?? files[0];
  const ask = (action: WorkspaceAction, one?: FileDiff) =>
    setAsked({ action, files: one ? [one] : files, whole: !one, seen: found.data?.seen ?? "" });

  return (
    <section
      aria-label={t("workspaces.of", { agent: workspace.agent, server: workspace.server })}
      className="flex min-h-0 min-w-0 flex-1 flex-col"
    >
      <div className="flex min-h-[50px] flex-wrap items-center gap-2 border-b border-line px-5 py-2">
        <h2 className="m-0 min-w-0 flex-1 truncate font-[600]">
          <Foreign text={t("workspaces.of", { agent: workspace.agent, server: workspace.server })} />
        </h2>
        <span role="status" className="text-ink2">
          {done}
        </span>
        {files.length > 0 && (
          <>
            <Button small look="danger" onClick={() => ask("discard")}>
              {t("workspaces.discard")}
            </Button>
            <Button small look="primary" onClick={() => ask("apply")}>
              {t("workspaces.apply")}
            </Button>
          </>
        )}
      </div>
      {found.isPending && <Bones rows={6} />}
      {found.isError && (
        <div className="p-6">
          <Failure told={tell(found.error)} retry={() => void found.refetch()} />
        </div>
      )}
      {found.data && files.length === 0 && <p className="m-0 p-6 text-ink2">{t("workspaces.clean")}</p>}
      {chosen && (
        <div className="flex min-h-0 flex-1 max-[900px]:flex-col">
          <ChangeTree files={files} chosen={keyOf(chosen)} choose={(f) => choose(keyOf(f))} />
          <OneFile key={keyOf(chosen)} file={chosen} ask={ask} />
        </div>
      )}
      {asked && (
        <Confirm
          workspace={workspace}
          {...asked}
          close={(said) => {
            setAsked(undefined);
            if (said) setDone(said);
          }}
        />
      )}
    </section>
  );
}

function OneFile({ file, ask }: { file: FileDiff; ask: (action: WorkspaceAction, file: FileDiff) => void }) {
  const t = useT();
  return (
    <Scroll label={t("diff.label", { path: file.path })} className="min-h-0 min-w-0 flex-1 p-5">
      {file.held && (
        <p className="m-0 mb-3 rounded-lg border border-wait-line bg-wait-bg px-3 py-2">
          <span className="font-[550] text-wait">{t("common.held")}</span>: <Foreign text={file.held} />
        </p>
      )}
      {file.stale && <p className="m-0 mb-3 rounded-lg bg-no-bg px-3 py-2 text-no">{t("common.stale")}</p>}
      <Diff path={file.path} unified={file.unified} note={file.note} />
      <div className="mt-3 flex gap-2">
        <Button small onClick={() => ask("apply", file)}>
          {t("workspaces.applyOne")}
        </Button>
        <Button small look="quiet" onClick={() => ask("discard", file)}>
          {t("workspaces.discardOne")}
        </Button>
      </div>
    </Scroll>
  );
}
