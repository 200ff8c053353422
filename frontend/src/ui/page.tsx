import type { ReactNode } from "react";

/** Page is the frame of every page: a header of 52 px with its name, then the page. */
export function Page({
  title,
  beside,
  actions,
  children,
}: {
  title: string;
  beside?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <>
      <header className="flex h-[52px] shrink-0 items-center gap-2.5 border-b border-line px-5">
        <h1 className="m-0 mr-0.5 text-lg font-[620] tracking-[-0.01em]">{title}</h1>
        {beside}
        <span className="flex-1" />
        {actions}
      </header>
      <div className="relative min-h-0 flex-1">{children}</div>
    </>
  );
}
