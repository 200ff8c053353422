import { useState } from "react";
import type { Observed } from "@/api/types";
import { cx } from "@/lib/cx";
import { clock } from "@/lib/format";
import { useT } from "@/lib/i18n";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { keyOf, kindIcons, kindOf, kinds, wordOf, type Kind } from "./kinds";
import { Span } from "./span";

const most = 60;

interface Props {
  seen: Observed[];
  /** The time that is drawn, in milliseconds. */
  since: number;
  until: number;
  live?: boolean;
}

/** Timeline is everything a server did, each thing once, the first first: what comes later stands below, so that
 * nothing moves while it is read. Beside each is when, from the first time to the last. */
export function Timeline({ seen, since, until, live }: Props) {
  const t = useT();
  const [only, setOnly] = useState<Kind>();
  const [all, setAll] = useState(false);
  const chosen = only ? seen.filter((o) => kindOf(o) === only) : seen;
  const shown = all ? chosen : chosen.slice(-most);
  return (
    <section aria-label={t("observe.seen")} className="@container rounded-xl border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line px-5 py-2 max-[480px]:px-4">
        <p role="status" className="tabular m-0 text-sm text-ink2">
          {t("observe.count", { n: seen.length })}
        </p>
        <span className="flex-1" />
        <div role="group" aria-label={t("observe.only")} className="flex flex-wrap gap-1">
          {kinds.map((kind) => {
            const n = seen.filter((o) => kindOf(o) === kind).length;
            return (
              <button
                key={kind}
                type="button"
                aria-pressed={only === kind}
                disabled={n === 0}
                onClick={() => setOnly(only === kind ? undefined : kind)}
                className="tabular flex items-center gap-1 rounded-full border border-line px-2 py-px text-sm text-ink2 enabled:hover:border-line2 enabled:hover:text-ink disabled:opacity-50 aria-pressed:border-focus aria-pressed:bg-info-bg aria-pressed:text-info"
              >
                <Icon name={kindIcons[kind]} size={12} />
                {t(`observe.many.${kind}`)} {n}
              </button>
            );
          })}
        </div>
      </div>
      {seen.length === 0 ? (
        <div className="px-5 py-8 text-center max-[480px]:px-4">
          <p className="m-0 font-[550]">{t("observe.nothing")}</p>
          <p className="m-0 text-pretty text-ink2">{t(live ? "observe.nothing.body" : "observe.nothing.ended")}</p>
        </div>
      ) : (
        <>
          {shown.length < chosen.length && (
            <button
              type="button"
              onClick={() => setAll(true)}
              className="w-full border-b border-line px-5 py-1.5 text-left text-sm text-info hover:underline"
            >
              {t("observe.earlier", { n: chosen.length - shown.length })}
            </button>
          )}
          <table className="w-full table-fixed border-collapse">
            <caption className="sr-only">{t("observe.seen")}</caption>
            <colgroup>
              <col className="w-[84px] @max-[560px]:hidden" />
              <col />
              <col className="w-[120px] @max-[560px]:w-[84px]" />
              <col className="w-[230px] @max-[800px]:hidden" />
            </colgroup>
            <thead className="text-sm text-ink3 [&_th]:border-b [&_th]:border-line [&_th]:py-1.5 [&_th]:text-left [&_th]:font-normal">
              <tr>
                <th scope="col" className="pl-5 @max-[560px]:hidden">
                  {t("observe.col.first")}
                </th>
                <th scope="col" className="@max-[560px]:pl-4">
                  {t("observe.col.what")}
                </th>
                <th scope="col">{t("observe.col.count")}</th>
                <th scope="col" className="pr-5 @max-[800px]:hidden">
                  <Axis since={since} until={until} />
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((o) => (
                <Row key={keyOf(o)} o={o} since={since} until={until} />
              ))}
            </tbody>
          </table>
        </>
      )}
    </section>
  );
}

function Axis({ since, until }: { since: number; until: number }) {
  const t = useT();
  return (
    <span className="tabular flex justify-between font-mono text-xs">
      <span className="sr-only">{t("observe.col.when")}</span>
      <span aria-hidden>{clock(new Date(since))}</span>
      <span aria-hidden>{clock(new Date(until))}</span>
    </span>
  );
}

function Row({ o, since, until }: { o: Observed; since: number; until: number }) {
  const t = useT();
  const denied = o.denied ?? 0;
  return (
    <tr className="border-b border-line align-top last:border-b-0 hover:bg-hover">
      <td className="tabular py-1.5 pl-5 font-mono text-sm text-ink3 @max-[560px]:hidden">{clock(o.first)}</td>
      <th scope="row" className="py-1.5 pr-3 text-left font-normal @max-[560px]:pl-4">
        <span className="flex items-start gap-2">
          <Icon name={kindIcons[kindOf(o)]} size={14} className={cx("mt-0.5", denied > 0 ? "text-no" : "text-ink3")} />
          <span className="min-w-0">
            <span className="sr-only">{t(wordOf(o))}: </span>
            <Foreign text={cut(o.what)} className="font-mono text-sm" />
            <About o={o} />
          </span>
        </span>
      </th>
      <td className="tabular py-1.5 pr-3 text-sm text-ink2">
        {t("observe.times", { n: o.count })}
        {denied > 0 && <span className="block text-no">{t("observe.denied", { n: denied })}</span>}
      </td>
      <td className="py-1.5 pr-5 @max-[800px]:hidden">
        <Span
          first={Date.parse(o.first)}
          last={Date.parse(o.last)}
          since={since}
          until={until}
          denied={denied > 0}
          many={o.count > 1}
        />
        <span className="sr-only">{t("observe.when", { first: clock(o.first), last: clock(o.last) })}</span>
      </td>
    </tr>
  );
}

/** About is what kind of thing it is and which calls it was done in. */
function About({ o }: { o: Observed }) {
  const t = useT();
  const words = [
    kindOf(o) === "path" && t(wordOf(o)),
    kindOf(o) === "change" && t("observe.kind.change"),
    kindOf(o) === "secret" && t("observe.kind.secret"),
    o.in.length > 0 && kindOf(o) !== "tool" && t("observe.in", { tools: o.in.slice(0, 4).join(", ") }),
    o.alone && t("observe.alone"),
  ].filter((w): w is string => typeof w === "string");
  if (words.length === 0) return null;
  return <Foreign text={words.join(" · ")} className="block text-sm text-ink3" />;
}

const longest = 240;

/** cut leaves what a line can bear of a long command; its title and the proposal have all of it. */
function cut(text: string): string {
  const points = [...text];
  return points.length > longest ? `${points.slice(0, longest).join("")}…` : text;
}
