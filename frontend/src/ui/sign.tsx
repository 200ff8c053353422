import { cx } from "@/lib/cx";

const signs: Record<string, [string, string]> = {
  added: ["+", "text-ok"],
  modified: ["~", "text-info"],
  deleted: ["−", "text-no"],
};

/** Sign is what happened to a path in one character; a word stands beside it. */
export function Sign({ kind }: { kind: string }) {
  const [sign, colour] = signs[kind] ?? ["?", "text-ink3"];
  return (
    <span aria-hidden className={cx("w-3 shrink-0 text-center font-mono font-[600]", colour)}>
      {sign}
    </span>
  );
}
