import type { Workspace } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { Counts } from "./counts";

interface Props {
  workspaces: Workspace[];
  chosen: string;
  choose: (id: string) => void;
}

/** WorkspaceList is the workspaces and how much each holds. */
export function WorkspaceList({ workspaces, chosen, choose }: Props) {
  const t = useT();
  return (
    <ul
      aria-label={t("workspaces.list")}
      className="m-0 w-[248px] shrink-0 list-none overflow-y-auto border-r border-line p-2 max-[1100px]:w-[200px] max-[760px]:w-full max-[760px]:border-r-0 max-[760px]:border-b"
    >
      {workspaces.map((w) => (
        <li key={w.id}>
          <button
            type="button"
            aria-pressed={w.id === chosen}
            onClick={() => choose(w.id)}
            className={cx(
              "flex w-full flex-col gap-0.5 rounded-lg px-3 py-2 text-left",
              w.id === chosen ? "bg-raised shadow-[0_0_0_1px_var(--line)]" : "hover:bg-hover",
            )}
          >
            <span className="flex w-full items-baseline gap-1.5">
              <Foreign text={w.server} className="font-[550]" />
              <Foreign text={w.agent} className="truncate text-ink2" />
            </span>
            <span className="w-full truncate font-mono text-xs text-ink3">
              <Foreign text={w.folders.join(", ")} />
            </span>
            <Counts workspace={w} />
          </button>
        </li>
      ))}
    </ul>
  );
}
