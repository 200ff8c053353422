import { useCallback, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { cx } from "@/lib/cx";
import { useUnseen } from "./unseen";

const slack = 6;

/** Scroll is a part that scrolls by itself. It takes the focus, so that the arrow keys reach it. Until
 * its end has been in sight it counts as not seen whole. */
export function Scroll({ label, className, children }: { label: string; className?: string; children: ReactNode }) {
  const ref = useRef<HTMLDivElement>(null);
  const seen = useRef(0);
  const [below, setBelow] = useState(false);
  const look = useCallback(() => {
    const el = ref.current;
    if (!el) return;
    seen.current = Math.max(seen.current, el.scrollTop + el.clientHeight);
    setBelow(el.scrollHeight - seen.current > slack);
  }, []);
  useUnseen(below);
  useLayoutEffect(look);
  useLayoutEffect(() => {
    if (typeof ResizeObserver === "undefined") return;
    const watch = new ResizeObserver(look);
    watch.observe(ref.current!);
    for (const child of ref.current!.children) watch.observe(child);
    return () => watch.disconnect();
  }, [look]);
  return (
    <div
      ref={ref}
      role="group"
      aria-label={label}
      onScroll={look}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else the keyboard cannot scroll it
      tabIndex={0}
      className={cx("overflow-y-auto focus-visible:outline-offset-[-2px]", className)}
    >
      {children}
    </div>
  );
}
