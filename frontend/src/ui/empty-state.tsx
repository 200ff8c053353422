import type { ReactNode } from "react";
import { Mark } from "./mark";

/** EmptyState says what will be here and teaches the next step. */
export function EmptyState({ title, body, children }: { title: string; body: string; children?: ReactNode }) {
  return (
    <div className="grid h-full place-items-center p-6">
      <div className="flex max-w-[420px] flex-col items-center gap-2 pb-10 text-center">
        <span className="mb-2 grid size-14 place-items-center rounded-xl border border-line bg-surface text-ink3">
          <Mark lit={false} size={28} />
        </span>
        <h2 className="m-0 text-lg font-[620] tracking-[-0.01em]">{title}</h2>
        <p className="m-0 text-pretty text-ink2">{body}</p>
        {children && <div className="mt-3 w-full">{children}</div>}
      </div>
    </div>
  );
}
