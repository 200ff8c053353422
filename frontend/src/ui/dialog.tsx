import { useEffect, useRef, type ReactNode } from "react";
import { cx } from "@/lib/cx";

interface Props {
  labelledBy: string;
  close: () => void;
  /** Its width, and what else differs. */
  className?: string;
  children: ReactNode;
}

/** Dialog is modal for as long as it is mounted: the browser keeps focus inside and everything
 * else inert. Escape asks to close; a click beside it does nothing, it may be a slip. */
export function Dialog({ labelledBy, close, className, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const asked = useRef(close);
  useEffect(() => {
    asked.current = close;
  });
  useEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement;
    const cancel = (e: globalThis.Event) => {
      e.preventDefault();
      asked.current();
    };
    dialog.addEventListener("cancel", cancel);
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.removeEventListener("cancel", cancel);
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={labelledBy}
      className={cx(
        "m-auto max-h-[min(92vh,860px)] max-w-[calc(100vw-32px)] flex-col overflow-hidden rounded-xl border border-line2 bg-surface p-0 text-ink shadow-float open:flex",
        className ?? "w-[720px]",
      )}
    >
      {children}
    </dialog>
  );
}
