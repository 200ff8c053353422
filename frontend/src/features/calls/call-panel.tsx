import { Link } from "@tanstack/react-router";
import { useCall, type WholeCall } from "@/api/calls";
import { told } from "@/api/decision";
import { bytes, moment, took } from "@/lib/format";
import { useLocale, useT, type Key } from "@/lib/i18n";
import { Arguments } from "@/ui/arguments";
import { Badge } from "@/ui/badge";
import { Bones } from "@/ui/bones";
import { ChangeList } from "@/ui/change-list";
import { Facts } from "@/ui/facts";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { ForeignBlock } from "@/ui/foreign-block";
import { Panel } from "@/ui/panel";
import { Section } from "@/ui/section";
import { Sentence } from "@/ui/sentence";
import { Said } from "@/ui/said";

/** CallPanel tells one call whole: what it was, what was decided and why, what came of it. */
export function CallPanel({ id, close }: { id: string; close: () => void }) {
  const t = useT();
  const found = useCall(id);
  return (
    <Panel label={t("call.title")} close={close} title={<span className="font-[600]">{t("call.title")}</span>}>
      {found.isPending && <Bones rows={6} />}
      {found.isError && (
        <div className="p-5">
          <Failure told={tell(found.error)} retry={() => void found.refetch()} />
        </div>
      )}
      {found.data && <Whole whole={found.data} />}
    </Panel>
  );
}

function Whole({ whole: { call, raw, input } }: { whole: WholeCall }) {
  const t = useT();
  const locale = useLocale();
  const { tone, word } = told(call);
  return (
    <>
      <Section>
        <h2 className="m-0 mb-2 text-lg leading-snug font-[620] tracking-[-0.01em] [overflow-wrap:anywhere]">
          <Sentence text={call.sentence} />
        </h2>
        <p className="m-0 flex flex-wrap items-center gap-x-2 gap-y-1 text-ink2">
          <Badge tone={tone}>{t(word)}</Badge>
          <span>
            <Foreign text={call.agent} /> · <Foreign text={call.server} /> · <Foreign text={call.tool} />
          </span>
          <span className="text-ink3">{moment(call.at, locale)}</span>
        </p>
        {call.outcome === "waiting" && call.approval && (
          <Link
            to="."
            search={(s) => ({ ...s, review: call.approval })}
            className="mt-3 inline-block rounded-lg border border-ink bg-ink px-4 py-[7px] font-[580] text-bg no-underline hover:opacity-88"
          >
            {t("call.review")}
          </Link>
        )}
      </Section>
      {call.findings.length > 0 && (
        <Section label={t("call.findings")}>
          <ul className="m-0 flex list-none flex-col gap-1 p-0 text-no">
            {call.findings.map((f, i) => (
              <li key={i}>
                <Foreign text={f} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section label={t("call.decision")}>
        <Facts
          facts={[
            [t("call.why"), <Said key="why" text={call.reason} />],
            [t("call.rule"), <Foreign key="rule" text={call.rule} />],
            [
              t("call.class"),
              <>
                {t(`class.${call.class}` as Key)}. <span className="text-ink3">{call.class_why}</span>
              </>,
            ],
            [t("call.by"), call.by && <Foreign text={call.by} />],
            [t("call.waited"), call.waited_ms > 0 && took(call.waited_ms)],
          ]}
        />
      </Section>
      <Section label={t("call.outcome")}>
        <Facts
          facts={[
            [t("call.outcome"), t(`outcome.${call.outcome}` as Key)],
            [t("call.took"), call.duration_ms > 0 && took(call.duration_ms)],
            [
              t("call.result"),
              call.result_digest && (
                <span title={call.result_digest}>
                  {t("call.result.size", { size: bytes(call.result_size, locale), digest: short(call.result_digest) })}
                </span>
              ),
            ],
          ]}
        />
        {call.error && (
          <div className="mt-2">
            <ForeignBlock text={call.error} from="server" label={t("call.error")} />
          </div>
        )}
      </Section>
      <Section label={t("call.changes")}>
        {call.changes.length > 0 ? (
          <ChangeList changes={call.changes} />
        ) : (
          <p className="m-0 text-ink2">{t("call.changes.none")}</p>
        )}
      </Section>
      <Section label={t("call.arguments")} beside={raw && <span>{t("call.arguments.redacted")}</span>}>
        {raw ? <Arguments raw={raw} /> : <p className="m-0 text-ink2">{t("call.arguments.none")}</p>}
      </Section>
      {input && (
        <Section label={t("call.input")}>
          <Arguments raw={input} />
        </Section>
      )}
      <Section>
        <Facts
          facts={[
            [
              t("call.id"),
              <code key="c" className="text-ink2 select-all">
                {call.id}
              </code>,
            ],
            [
              t("call.session"),
              <code key="s" className="text-ink2 select-all">
                {call.session}
              </code>,
            ],
            [t("call.sandbox"), call.sandbox && <code className="text-ink2 select-all">{call.sandbox}</code>],
          ]}
        />
      </Section>
    </>
  );
}

/** short is enough of a digest to compare by eye. */
function short(digest: string): string {
  return digest.length > 23 ? `${digest.slice(0, 19)}…` : digest;
}
