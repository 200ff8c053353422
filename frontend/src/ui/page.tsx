import { createContext, use, type ReactNode } from "react";

/** PageStart is what stands before the name of every page: the way to others, where no rail does. */
export const PageStart = createContext<ReactNode>(null);

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
  const start = use(PageStart);
  return (
    <>
      <header className="flex h-[52px] shrink-0 items-center gap-2.5 border-b border-line px-5 max-[480px]:px-3.5">
        {start}
        <h1 className="m-0 mr-0.5 min-w-0 truncate text-lg font-[620] tracking-[-0.01em]">{title}</h1>
        {beside}
        <span className="flex-1" />
        {actions}
      </header>
      <div className="relative min-h-0 flex-1">{children}</div>
    </>
  );
}
