import { useState } from "react";
import { copy } from "@/lib/clipboard";
import { useT } from "@/lib/i18n";
import { Icon } from "./icon";

/** CopyCommand is a command to run in a terminal, and a button that copies it. */
export function CopyCommand({ command }: { command: string }) {
  const t = useT();
  const [copied, setCopied] = useState(false);
  const run = async () => {
    if (!(await copy(command))) return; // it can be selected by hand
    setCopied(true);
    setTimeout(() => setCopied(false), 1600);
  };
  return (
    <div className="flex items-stretch overflow-hidden rounded-lg border border-line bg-sunken text-left">
      <code className="min-w-0 flex-1 px-3 py-[7px] [overflow-wrap:anywhere] whitespace-pre-wrap text-ink select-all">
        {command}
      </code>
      <button
        type="button"
        onClick={() => void run()}
        aria-label={`${t("common.copy")}: ${command}`}
        className="flex shrink-0 items-center gap-1.5 border-l border-line bg-surface px-3 text-sm text-ink2 hover:text-ink"
      >
        <Icon name={copied ? "check" : "copy"} size={14} className={copied ? "text-ok" : ""} />
        <span aria-live="polite">{copied ? t("common.copied") : t("common.copy")}</span>
      </button>
    </div>
  );
}
