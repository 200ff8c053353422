import { useEffect, useRef } from "react";
import { useWorkspaceAction, type WorkspaceAction } from "@/api/workspaces";
import type { FileDiff, Workspace } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Button } from "@/ui/button";
import { ChangeList } from "@/ui/change-list";
import { Dialog } from "@/ui/dialog";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Scroll } from "@/ui/scroll";

interface Props {
  workspace: Workspace;
  action: WorkspaceAction;
  files: FileDiff[];
  /** All of the workspace, not one file that was chosen. */
  whole: boolean;
  /** Of the difference that was shown: what came after it is left out. */
  seen: string;
  close: (said?: string) => void;
}

/** Confirm names what an action will do before it does it. Focus rests on leaving it be. */
export function Confirm({ workspace, action, files, whole, seen, close }: Props) {
  const t = useT();
  const act = useWorkspaceAction();
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  const held = whole && action === "apply" ? files.filter((f) => f.held || f.stale) : [];
  const meant = files.filter((f) => !held.includes(f));
  const run = () =>
    act.mutate(
      // One file is named absolutely: two folders may hold the same relative path.
      { workspace, action, seen, ...(!whole && { paths: meant.map((f) => `${f.folder}/${f.path}`) }) },
      {
        onSuccess: ({ done, left }) =>
          close(
            [
              t(action === "apply" ? "workspaces.applied" : "workspaces.discarded", { n: done.length }),
              left.length > 0 ? t("workspaces.left", { n: left.length }) : "",
            ].join(" "),
          ),
      },
    );
  return (
    <Dialog labelledBy="confirm-title" close={() => close()} className="w-[480px]">
      <div className="px-[22px] pt-5 pb-2">
        <h2 id="confirm-title" className="m-0 mb-1 text-xl font-[640] tracking-[-0.015em]">
          {t(`workspaces.confirm.${action}`, { n: meant.length })}
        </h2>
        <p className="m-0 text-ink2">
          <Foreign text={t(`workspaces.confirm.${action}.body`, { folder: workspace.folders.join(", ") })} />
        </p>
        {!whole && files[0]?.held && (
          <p className="m-0 mt-1 text-wait">
            {t("common.held")}: <Foreign text={files[0].held} />
          </p>
        )}
        {held.length > 0 && <p className="m-0 mt-1 text-wait">{t("workspaces.confirm.held", { n: held.length })}</p>}
      </div>
      <Scroll label={t("workspaces.tree")} className="min-h-16 flex-auto px-[22px] py-2">
        <ChangeList changes={meant} />
      </Scroll>
      {act.error && (
        <div className="px-[22px] py-2">
          <Failure told={tell(act.error)} />
        </div>
      )}
      <div className="flex justify-end gap-2 px-[22px] pt-3 pb-4">
        <Button ref={keep} onClick={() => close()}>
          {t("workspaces.keep")}
        </Button>
        <Button look={action === "apply" ? "primary" : "danger"} disabled={act.isPending || meant.length === 0} onClick={run}>
          {t(`workspaces.${action}`)}
        </Button>
      </div>
    </Dialog>
  );
}
