import { flexRender, getCoreRowModel, useReactTable, type Row } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { Call } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";
import { columns, type ColumnMeta } from "./columns";

const rowHeight = 34;

interface Props {
  calls: Call[];
  chosen: string | undefined;
  choose: (call: Call) => void;
  /** Called when the end comes into sight. */
  end: () => void;
  foot: ReactNode;
}

/** CallsTable shows however many calls with as many rows as fit. Arrow keys move, Enter opens. */
export function CallsTable({ calls, chosen, choose, end, foot }: Props) {
  const t = useT();
  const scroller = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- the table is not memoized by hand either
  const table = useReactTable({ data: calls, columns, getCoreRowModel: getCoreRowModel(), getRowId: (c) => c.id });
  const rows = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (i) => rows[i]!.id,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const { focused, onKeyDown } = useRoving(rows, scroller, (i) => virtual.scrollToIndex(i));

  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - 5) end();
  }, [last, rows.length, end]);

  return (
    <div ref={scroller} className="h-full overflow-y-auto">
      <div role="grid" aria-label={t("calls.table")} aria-rowcount={rows.length + 1} tabIndex={-1} onKeyDown={onKeyDown}>
        <div role="rowgroup" className="sticky top-0 z-10 bg-bg">
          <div role="row" aria-rowindex={1} className="flex border-b border-line px-2.5 text-sm text-ink3">
            {columns.map((c, i) => {
              const { name, cell } = c.meta as ColumnMeta;
              return (
                <div key={i} role="columnheader" className={cx("shrink-0 px-2.5 py-[7px]", cell)}>
                  {t(name)}
                </div>
              );
            })}
          </div>
        </div>
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index]!;
            return (
              <CallRow
                key={row.id}
                row={row}
                index={item.index}
                top={item.start}
                focusable={row.id === focused}
                chosen={row.id === chosen}
                choose={choose}
              />
            );
          })}
        </div>
      </div>
      <div className="px-5 py-3 text-sm text-ink3">{foot}</div>
    </div>
  );
}

interface RowProps {
  row: Row<Call>;
  index: number;
  top: number;
  focusable: boolean;
  chosen: boolean;
  choose: (call: Call) => void;
}

function CallRow({ row, index, top, focusable, chosen, choose }: RowProps) {
  const call = row.original;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={chosen}
      data-row={row.id}
      tabIndex={focusable ? 0 : -1}
      onClick={() => choose(call)}
      onKeyDown={(e) => e.key === "Enter" && choose(call)}
      style={{ transform: `translateY(${top}px)` }}
      className={cx(
        "absolute inset-x-0 top-0 flex h-[34px] items-center border-b border-line px-2.5 focus-visible:outline-offset-[-2px]",
        call.outcome === "waiting" ? "bg-wait-bg" : chosen ? "bg-raised" : "hover:bg-hover",
        chosen && "shadow-[inset_3px_0_0_var(--focus)]",
      )}
    >
      {row.getVisibleCells().map((cell) => (
        <div
          key={cell.id}
          role="gridcell"
          className={cx("shrink-0 truncate px-2.5", (cell.column.columnDef.meta as ColumnMeta).cell)}
        >
          {flexRender(cell.column.columnDef.cell, cell.getContext())}
        </div>
      ))}
    </div>
  );
}

/** useRoving moves one tab stop over the rows by the arrow keys. */
function useRoving(rows: Row<Call>[], scroller: { current: HTMLElement | null }, show: (index: number) => void) {
  const [at, setAt] = useState<string>();
  const index = Math.max(
    0,
    rows.findIndex((r) => r.id === at),
  );
  const onKeyDown = (e: KeyboardEvent) => {
    const to = target(e.key, index, rows.length);
    if (to === undefined) return;
    e.preventDefault();
    const id = rows[to]!.id;
    setAt(id);
    show(to);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)?.focus());
  };
  return { focused: rows[index]?.id, onKeyDown };
}

function target(key: string, at: number, count: number): number | undefined {
  if (count === 0) return undefined;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 15, PageUp: at - 15, Home: 0, End: count - 1 }[key];
  return to === undefined ? undefined : Math.min(count - 1, Math.max(0, to));
}
