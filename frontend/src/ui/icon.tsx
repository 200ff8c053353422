import { cx } from "@/lib/cx";

const paths = {
  home: "M3 7.2 8 3l5 4.200V13H9.700V9.600H6.300V13H3z",
  calls: "M2.500 4h11M2.500 8h11M2.500 12h6.500",
  approvals:
    "M8 2.200v1.300M4.200 6.700a3.800 3.800 0 0 1 7.600 0M3.300 6.700h9.400M4.300 6.700l.5 5.100h6.400l.5-5.100M6 11.800l.8 2h2.400l.8-2M8 8.700v1",
  servers: "M2.800 3h10.400v4H2.800zM2.800 9h10.400v4H2.800zM5.200 5h.01M5.200 11h.01",
  workspaces: "M8 2.600 13.500 5.300 8 8 2.500 5.300zM2.700 8 8 10.700 13.300 8M2.700 10.700 8 13.400l5.300-2.700",
  policy: "M8 2.200 13 4v3.800c0 3-2.100 5-5 6-2.900-1-5-3-5-6V4zM5.700 7.900l1.700 1.700 3-3.200",
  record: "M4 2.500h8.500v11H4a1.500 1.500 0 0 1-1.500-1.500V4A1.500 1.500 0 0 1 4 2.500zM5.500 2.500v11M8 5.700h2.500",
  doctor: "M2 8.300h2.700L6.300 4l3 8.300 1.700-4h3",
  search: "M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM10.300 10.300l3.200 3.200",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3.200 8.500l3 3 6.600-7",
  cross: "M4.500 4.500l7 7M11.500 4.500l-7 7",
  block: "M8 13.300A5.300 5.300 0 1 0 8 2.700a5.300 5.300 0 0 0 0 10.600zM4.300 4.300l7.400 7.400",
  dot: "M8 10.600a2.600 2.600 0 1 0 0-5.200 2.600 2.600 0 0 0 0 5.200z",
  person:
    "M8 7.700a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM3.300 13.300c.4-2.500 2.300-3.700 4.700-3.700s4.300 1.200 4.700 3.700",
  clock: "M8 13.300A5.300 5.300 0 1 0 8 2.700a5.300 5.300 0 0 0 0 10.600zM8 5.200V8l1.900 1.200",
  warn: "M8 2.700 14 13H2zM8 6.500v3M8 11.200v.01",
  chevron: "M6 3.500 10.500 8 6 12.500",
  copy: "M5.500 5.500V3h7.500v7.500h-2.500M3 5.500h7.500V13H3z",
  sun: "M8 10.700a2.700 2.700 0 1 0 0-5.400 2.700 2.700 0 0 0 0 5.400zM8 1.800v1.400M8 12.800v1.400M1.800 8h1.400M12.800 8h1.400M3.600 3.600l1 1M11.400 11.400l1 1M12.400 3.600l-1 1M4.600 11.400l-1 1",
  moon: "M13 9.500A5.500 5.500 0 0 1 6.500 3 5.300 5.300 0 1 0 13 9.500z",
  system: "M2.500 3.500h11v7h-11zM6 13h4M8 10.500V13",
  file: "M4 2.500h5l3 3v8H4zM9 2.500v3h3",
  folder: "M2.500 4h4l1.300 1.500h5.700v7h-11z",
} as const;

export type IconName = keyof typeof paths;

/** Icon is decoration: the word beside it speaks. */
export function Icon({ name, size = 16, className }: { name: IconName; size?: number; className?: string }) {
  return (
    <svg
      aria-hidden
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill={name === "dot" ? "currentColor" : "none"}
      stroke={name === "dot" ? "none" : "currentColor"}
      strokeWidth={1.35}
      strokeLinecap="round"
      strokeLinejoin="round"
      className={cx("shrink-0", className)}
    >
      <path d={paths[name]} />
    </svg>
  );
}
