import { createContext, use, useCallback, useId, useLayoutEffect, useState, type ReactNode } from "react";

const Unseen = createContext<((id: string, hidden: boolean) => void) | undefined>(undefined);

/** useUnseen notes, for whoever asks with Watched, that a part is hidden: folded, or below the edge. */
export function useUnseen(hidden: boolean) {
  const id = useId();
  const note = use(Unseen);
  useLayoutEffect(() => {
    note?.(id, hidden);
    return () => note?.(id, false);
  }, [note, id, hidden]);
}

/** useWatched says whether any part inside Watched is hidden still. */
export function useWatched(): [hidden: boolean, note: (id: string, hidden: boolean) => void] {
  const [parts, setParts] = useState<ReadonlySet<string>>(new Set());
  const note = useCallback((id: string, hidden: boolean) => {
    setParts((before) => {
      if (before.has(id) === hidden) return before;
      const now = new Set(before);
      if (hidden) now.add(id);
      else now.delete(id);
      return now;
    });
  }, []);
  return [parts.size > 0, note];
}

/** Watched is what must have been seen whole. */
export function Watched({ note, children }: { note: (id: string, hidden: boolean) => void; children: ReactNode }) {
  return <Unseen value={note}>{children}</Unseen>;
}
