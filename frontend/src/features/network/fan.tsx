import { cx } from "@/lib/cx";
import { useT } from "@/lib/i18n";

export const rowHeight = 46;
export const groupGap = 14;

export type Way = "allowed" | "waits" | "blocked";

interface Props {
  /** How far down each way ends, in pixels, and how it ends. */
  ways: { y: number; way: Way }[];
  height: number;
}

const width = 104;
const wall = 58;
const opening = 9;

/** Fan is the picture of a reach: a line from the sandbox to each host. What is allowed goes through an opening
 * of the wall; what is blocked, or waits for a person, ends at it. The list beside it says the same in words. */
export function Fan({ ways, height }: Props) {
  const t = useT();
  const start = startOf(ways, height);
  const openings = ways.filter((w) => w.way === "allowed").map((w) => w.y);
  return (
    <div aria-hidden className="relative shrink-0" style={{ width, height }}>
      <span className="absolute -top-4 text-xs text-ink3" style={{ left: wall, translate: "-50%" }}>
        {t("network.wall")}
      </span>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        fill="none"
        className="absolute inset-0 overflow-visible"
      >
        {parts(openings, height).map(([from, to]) => (
          <path key={from} d={`M${wall} ${from}V${to}`} className="stroke-line2" strokeWidth={3} strokeLinecap="round" />
        ))}
        {ways.map(({ y, way }, i) => (
          <path
            key={i}
            d={`M0 ${start}C ${wall * 0.62} ${start} ${wall * 0.3} ${y} ${wall - 7} ${y}${way === "allowed" ? `H${width - 6}` : ""}`}
            className={cx(strokes[way], way === "blocked" && "opacity-70")}
            strokeWidth={1.4}
            strokeDasharray={way === "allowed" ? undefined : "3 3"}
          />
        ))}
        {ways.map(({ y, way }, i) => (
          <End key={i} y={y} way={way} />
        ))}
        <circle cx={0} cy={start} r={3} className="fill-ink3" />
      </svg>
    </div>
  );
}

const strokes: Record<Way, string> = { allowed: "stroke-ok", waits: "stroke-lamp", blocked: "stroke-no" };

function End({ y, way }: { y: number; way: Way }) {
  if (way === "allowed")
    return (
      <path
        d={`M${width - 10} ${y - 3.5}l4 3.500l-4 3.500`}
        className="stroke-ok"
        strokeWidth={1.4}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    );
  if (way === "waits") return <circle cx={wall - 8} cy={y} r={3.5} className="fill-lamp" />;
  return (
    <path
      d={`M${wall - 11} ${y - 3}l6 6M${wall - 5} ${y - 3}l-6 6`}
      className="stroke-no"
      strokeWidth={1.6}
      strokeLinecap="round"
    />
  );
}

/** startOf is where the lines begin: in the middle, but near the top where the list is long. */
export function startOf(ways: { y: number }[], height: number): number {
  return Math.min(height / 2, rowHeight * 3, ways.length === 1 ? ways[0]!.y : Infinity);
}

/** parts are the pieces of the wall between its openings. */
function parts(openings: number[], height: number): [number, number][] {
  const edges = [2, ...openings.flatMap((y) => [y - opening, y + opening]), height - 2];
  const out: [number, number][] = [];
  for (let i = 0; i < edges.length; i += 2) if (edges[i + 1]! > edges[i]!) out.push([edges[i]!, edges[i + 1]!]);
  return out;
}
