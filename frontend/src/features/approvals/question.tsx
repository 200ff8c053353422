import type { ReactNode } from "react";
import type { Approval } from "@/api/types";
import { useT, type Key } from "@/lib/i18n";
import { Badge } from "@/ui/badge";
import { Facts } from "@/ui/facts";
import { Foreign } from "@/ui/foreign";
import { Said } from "@/ui/said";
import { Scroll } from "@/ui/scroll";
import { Section } from "@/ui/section";
import { Findings } from "./findings";
import { Subject } from "./subject";

interface Props {
  approval: Approval;
  raw: string | undefined;
  input: string | undefined;
  unfolded: boolean;
  unfold: (open: boolean) => void;
  /** How far a yes reaches; the last that is asked. */
  children: ReactNode;
}

/** headingOf is what the main part of a question is about. */
function headingOf({ kind, diff, network, secret }: Approval): Key {
  if (diff) return "approval.changes";
  if (network?.host_key) return "approval.heading.hostKey";
  if (secret?.agent) return "approval.heading.agent";
  return headings[kind] ?? "approval.heading.call";
}

const headings: Record<string, Key> = {
  tool: "approval.heading.tool",
  network: "approval.heading.network",
  install: "approval.heading.install",
  secret: "approval.heading.secret",
  command: "approval.heading.command",
};

/** Question is everything a person needs to know before answering, in the order it is asked. */
export function Question({ approval, raw, input, unfolded, unfold, children }: Props) {
  const t = useT();
  const { call, diff } = approval;
  const label = t(headingOf(approval));
  return (
    // On a low screen all of it scrolls, else only what changes; the answer stays in sight.
    <div className="flex min-h-0 flex-auto flex-col overflow-y-auto">
      <div className="shrink-0 border-b border-line py-3.5 pr-12 pl-[22px]">
        <h2 id="approval-title" className="m-0 mb-1 text-xl leading-[1.3] font-[640] tracking-[-0.015em] text-pretty">
          <Said text={approval.title} />
        </h2>
        {!approval.title.includes(approval.object) && approval.object !== call.tool && (
          <p className="m-0 mb-0.5 line-clamp-2">
            <Foreign text={approval.object} className="font-mono text-sm text-ink" />
          </p>
        )}
        <p className="m-0 text-pretty text-ink2">
          {call.tool && (
            <>
              <ClassBadge name={call.class} /> <bdi>{t("approval.through", { server: call.server, tool: call.tool })}</bdi>
              {". "}
            </>
          )}
          <Said text={approval.stays} />
        </p>
      </div>
      <Findings findings={approval.findings ?? []} />
      <Scroll label={label} className="min-h-24 flex-auto">
        <Section
          label={label}
          beside={
            diff &&
            raw && (
              <button
                type="button"
                aria-expanded={unfolded}
                onClick={() => unfold(!unfolded)}
                className="text-info hover:underline"
              >
                {unfolded ? t("approval.hideArguments") : t("approval.allArguments")}
              </button>
            )
          }
        >
          <div className="flex flex-col gap-3">
            <Subject approval={approval} raw={raw} input={input} unfolded={unfolded} />
          </div>
        </Section>
      </Scroll>
      <div className="shrink-0 border-t border-line px-[22px] py-2.5">
        <Facts
          facts={[
            [
              t("approval.why"),
              <>
                <Said text={call.reason} /> <Said text={call.rule} className="text-ink3" />
                {call.class_why && !call.reason.includes(call.class_why.replace(/\.$/, "")) && (
                  <Said text={call.class_why} className="block text-ink2" />
                )}
              </>,
            ],
            [t("approval.before"), approval.before && <Said text={approval.before} />],
            [t("approval.reaches"), approval.reaches && <Said text={approval.reaches} />],
          ]}
        />
      </div>
      {children}
    </div>
  );
}

const tones: Record<string, "ok" | "no" | "info" | "plain"> = { read: "ok", write: "info", destroy: "no", execute: "no" };
const icons = { read: "check", write: "file", destroy: "warn", execute: "warn" } as const;

/** ClassBadge is what a call does, in a word. */
export function ClassBadge({ name }: { name: string }) {
  const t = useT();
  return (
    <Badge tone={tones[name] ?? "plain"} icon={icons[name as keyof typeof icons] ?? "clock"}>
      {t(`class.${name}` as Key)}
    </Badge>
  );
}
