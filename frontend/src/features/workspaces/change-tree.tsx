import { useMemo } from "react";
import type { FileDiff } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT, type Key } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { Sign } from "@/ui/sign";
import { keyOf, tree } from "./tree";

interface Props {
  files: FileDiff[];
  chosen: string;
  choose: (file: FileDiff) => void;
}

// Indents as classes: the content policy allows no style attributes in markup.
const indents = ["pl-2", "pl-5", "pl-8", "pl-11", "pl-14", "pl-16"];

/** ChangeTree is the changed files in their folders. */
export function ChangeTree({ files, chosen, choose }: Props) {
  const t = useT();
  const rows = useMemo(() => tree(files), [files]);
  return (
    <ul
      aria-label={t("workspaces.tree")}
      className="m-0 w-[290px] shrink-0 list-none overflow-auto border-r border-line p-2 max-[1240px]:w-[230px] max-[900px]:max-h-[36%] max-[900px]:w-full max-[900px]:border-r-0 max-[900px]:border-b"
    >
      {rows.map((row) => {
        const indent = indents[Math.min(row.depth, indents.length - 1)];
        const { file } = row;
        if (!file) {
          return (
            <li key={row.key} className={cx("flex items-center gap-1.5 py-1 pr-2 text-ink3", indent)}>
              <Icon name="folder" size={13} />
              <Foreign text={row.name} className="min-w-0 truncate font-mono text-sm" />
            </li>
          );
        }
        return (
          <li key={row.key}>
            <button
              type="button"
              aria-pressed={keyOf(file) === chosen}
              onClick={() => choose(file)}
              className={cx(
                "flex w-full items-center gap-1.5 rounded-md py-1 pr-2 text-left",
                indent,
                keyOf(file) === chosen ? "bg-raised shadow-[0_0_0_1px_var(--line)]" : "hover:bg-hover",
              )}
            >
              <Sign kind={file.kind} />
              <Foreign
                text={row.name}
                className={cx("min-w-0 flex-1 truncate font-mono text-sm", file.kind === "deleted" && "line-through")}
              />
              <span className="sr-only">{t(`common.${file.kind}` as Key)}</span>
              {file.held && <span className="text-xs text-wait">{t("common.held")}</span>}
              {file.stale && <Icon name="warn" size={12} className="text-no" />}
            </button>
          </li>
        );
      })}
    </ul>
  );
}
