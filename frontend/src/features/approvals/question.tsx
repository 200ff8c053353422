import type { Approval } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Arguments } from "@/ui/arguments";
import { Diff } from "@/ui/diff";
import { Facts } from "@/ui/facts";
import { Foreign } from "@/ui/foreign";
import { Section } from "@/ui/section";
import { Scroll } from "@/ui/scroll";

interface Props {
  approval: Approval;
  raw: string | undefined;
  unfolded: boolean;
  unfold: (open: boolean) => void;
}

/** Question is everything a person needs to know before answering, in the order it is asked. */
export function Question({ approval, raw, unfolded, unfold }: Props) {
  const t = useT();
  const { call, diff } = approval;
  return (
    // On a low screen all of it scrolls, else only what changes; the answer stays in sight.
    <div className="flex min-h-0 flex-auto flex-col overflow-y-auto">
      <div className="shrink-0 border-b border-line py-4 pr-12 pl-[22px]">
        <h2 id="approval-title" className="m-0 mb-1 text-xl leading-[1.3] font-[640] tracking-[-0.015em] text-pretty">
          <Foreign text={approval.title} />
        </h2>
        <p className="m-0 text-pretty text-ink2">
          <Foreign text={approval.object} className="font-mono text-sm text-ink" />
          {" — "}
          <bdi>{t("approval.through", { server: call.server, tool: call.tool })}</bdi>
          {". "}
          {approval.stays}
        </p>
      </div>
      <Scroll label={t("approval.changes")} className="min-h-24 flex-auto">
        <Section
          label={t("approval.changes")}
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
            {diff && <Diff path={diff.path} unified={diff.unified} note={diff.note} />}
            {raw && (!diff || unfolded) && <Arguments raw={raw} />}
            {!raw && <p className="m-0 text-ink3">{t("call.arguments.none")}</p>}
          </div>
        </Section>
      </Scroll>
      <div className="shrink-0 border-t border-line px-[22px] py-3">
        <Facts
          facts={[
            [
              t("approval.why"),
              <>
                {call.reason} <span className="text-ink3">{call.rule}</span>
                {call.class_why && !call.reason.includes(call.class_why.replace(/\.$/, "")) && (
                  <span className="block text-ink2">{call.class_why}</span>
                )}
              </>,
            ],
            [t("approval.before"), approval.before],
            [t("approval.reaches"), approval.reaches],
          ]}
        />
      </div>
    </div>
  );
}
