import { Link } from "@tanstack/react-router";
import type { AuditEvent } from "@/api/types";
import { moment } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { Facts } from "@/ui/facts";
import { Foreign } from "@/ui/foreign";
import { ForeignBlock } from "@/ui/foreign-block";
import { Panel } from "@/ui/panel";
import { Section } from "@/ui/section";

/** EventPanel is one entry of the record, whole. */
export function EventPanel({ event: e, close }: { event: AuditEvent; close: () => void }) {
  const t = useT();
  const locale = useLocale();
  const title = `${t("record.seq")} ${e.seq}`;
  return (
    <Panel
      label={title}
      close={close}
      title={
        <h2 className="m-0 flex items-baseline gap-2 text-md font-[620]">
          <Foreign text={e.kind} />
          <span className="tabular font-normal text-ink3">{title}</span>
        </h2>
      }
    >
      <Section>
        <Facts
          facts={[
            [t("record.time"), moment(e.at, locale)],
            [t("record.who"), e.principal && <Foreign text={e.principal} />],
            [t("record.server"), e.server && <Foreign text={e.server} />],
            [t("call.session"), e.session && <code className="text-ink2">{e.session}</code>],
            [
              t("call.id"),
              e.call && (
                <Link to="/calls" search={{ call: e.call }} className="font-mono text-sm text-info no-underline hover:underline">
                  {e.call}
                </Link>
              ),
            ],
            [
              t("record.hash"),
              <code key="h" className="foreign text-ink2">
                {e.hash}
              </code>,
            ],
          ]}
        />
      </Section>
      <Section>
        <ForeignBlock text={JSON.stringify(e.body, null, 2)} from="daemon" label={t("record.body")} />
      </Section>
    </Panel>
  );
}
