import { cx } from "@/lib/cx";

interface Props {
  first: number;
  last: number;
  since: number;
  until: number;
  denied: boolean;
  many: boolean;
}

const width = 210;
const edge = 4;

/** Span is when something was done within the time that is drawn: a dot for the first time, a line to the last. */
export function Span({ first, last, since, until, denied, many }: Props) {
  const at = (ms: number) => edge + (width - 2 * edge) * Math.min(1, Math.max(0, (ms - since) / Math.max(1, until - since)));
  const [from, to] = [at(first), at(last)];
  return (
    <svg aria-hidden width={width} height={18} viewBox={`0 0 ${width} 18`} className="block max-w-full">
      <path d={`M${edge} 9H${width - edge}`} className="stroke-line" strokeWidth={1} />
      {many && to - from > 1 && (
        <path d={`M${from} 9H${to}`} className={denied ? "stroke-no" : "stroke-info"} strokeWidth={2} opacity={0.55} />
      )}
      {denied ? (
        <path
          d={`M${from - 3} 6l6 6M${from + 3} 6l-6 6`}
          className="stroke-no"
          strokeWidth={1.6}
          strokeLinecap="round"
          fill="none"
        />
      ) : (
        <circle cx={from} cy={9} r={3.5} className="fill-info" />
      )}
      {many && to - from > 6 && <circle cx={to} cy={9} r={2.5} className={cx(denied ? "fill-no" : "fill-info")} />}
    </svg>
  );
}
