import { useState } from "react";
import { copy } from "@/lib/clipboard";
import { useT } from "@/lib/i18n";
import { visible } from "@/lib/visible";
import { Icon } from "./icon";

/** Fingerprint is a key's, in groups of four, so that a person can compare it with another, and a button that copies
 * it as it is. */
export function Fingerprint({ text }: { text: string }) {
  const t = useT();
  const [copied, setCopied] = useState(false);
  const [kind, rest] = text.includes(":")
    ? [text.slice(0, text.indexOf(":") + 1), text.slice(text.indexOf(":") + 1)]
    : ["", text];
  const groups = visible(rest).match(/.{1,4}/gu) ?? [];
  const run = async () => {
    if (!(await copy(text))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), 1600);
  };
  return (
    <span className="inline-flex max-w-full items-stretch self-start overflow-hidden rounded-lg border border-line bg-sunken">
      <span
        role="img"
        aria-label={visible(text)}
        className="flex min-w-0 flex-wrap gap-x-2 px-3 py-[7px] font-mono text-base text-ink"
      >
        <span className="text-ink3">{kind}</span>
        {groups.map((group, i) => (
          <span key={i}>{group}</span>
        ))}
      </span>
      <button
        type="button"
        onClick={() => void run()}
        aria-label={`${t("common.copy")}: ${visible(text)}`}
        className="flex shrink-0 items-center gap-1.5 border-l border-line bg-surface px-3 text-sm text-ink2 hover:text-ink"
      >
        <Icon name={copied ? "check" : "copy"} size={14} className={copied ? "text-ok" : ""} />
        <span aria-live="polite">{copied ? t("common.copied") : t("common.copy")}</span>
      </button>
    </span>
  );
}
