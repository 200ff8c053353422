import type { ReactNode } from "react";

/** Facts are names and what is so, in two columns. Empty ones are left out. */
export function Facts({ facts }: { facts: [name: string, value: ReactNode][] }) {
  return (
    <dl className="m-0 grid grid-cols-[104px_1fr] gap-x-3 gap-y-1.5">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-ink3">{name}</dt>
            <dd className="m-0 min-w-0">{value}</dd>
          </div>
        ))}
    </dl>
  );
}
