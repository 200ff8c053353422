/** Mark is the sentry box; its lamp is lit when someone waits. */
export function Mark({ lit, size = 22 }: { lit: boolean; size?: number }) {
  return (
    <svg
      aria-hidden
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinejoin="round"
      strokeLinecap="round"
    >
      <path d="M12 1.8v1.8M6.200 9c0-3.400 2.500-5.400 5.800-5.400S17.800 5.600 17.800 9M5.200 9h13.600M6.400 9l.7 9.500h9.800l.7-9.500M8.600 18.500l1.600 3.700h3.600l1.600-3.700" />
      <path d="M12 12.200v3.200" stroke={lit ? "var(--lamp)" : "currentColor"} strokeWidth="2.600" opacity={lit ? 1 : 0.45} />
    </svg>
  );
}
