import type { ReactNode } from "react";

/** Card is one part of the home page. */
export function Card({ label, beside, children }: { label: string; beside?: ReactNode; children: ReactNode }) {
  return (
    <section className="flex min-w-0 flex-col rounded-xl border border-line bg-surface px-5 py-4">
      <div className="mb-3 flex items-baseline justify-between gap-3">
        <h2 className="m-0 text-sm font-[550] text-ink3">{label}</h2>
        <span className="text-sm">{beside}</span>
      </div>
      {children}
    </section>
  );
}
