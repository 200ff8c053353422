import { useMemo } from "react";
import { cx } from "@/lib/cx";
import { split, visible, type Segment } from "@/lib/visible";

/** Foreign is text of a server or agent within a line of ours: as text, apart in direction, with
 * what cannot be seen as marks. */
export function Foreign({ text, className }: { text: string; className?: string }) {
  const segments = useMemo(() => split(text, false), [text]);
  return (
    <bdi className={cx("foreign", className)} title={visible(text)}>
      <Segments segments={segments} />
    </bdi>
  );
}

export function Segments({ segments }: { segments: Segment[] }) {
  return segments.map((s, i) =>
    s.mark ? (
      <span key={i} title={s.mark} className="mx-px rounded-[3px] bg-no-bg px-0.5 font-mono text-[0.85em] text-no">
        {s.text}
      </span>
    ) : (
      s.text
    ),
  );
}
