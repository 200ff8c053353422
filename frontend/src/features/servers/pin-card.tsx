import type { PinItem } from "@/api/types";
import { cx } from "@/lib/cx";
import { useT, type Key } from "@/lib/i18n";
import { Badge } from "@/ui/badge";
import { Foreign } from "@/ui/foreign";
import { ForeignBlock } from "@/ui/foreign-block";
import { Icon } from "@/ui/icon";

interface Props {
  item: PinItem;
  chosen?: boolean;
  choose?: (on: boolean) => void;
}

/** PinCard is one thing that is held back: why, what was found, what has changed field by field, and
 * where it is new all of it. */
export function PinCard({ item, chosen, choose }: Props) {
  const t = useT();
  const kind = t(`pins.kind.${item.kind}` as Key);
  return (
    <li className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-3">
      <div className="flex items-center gap-2">
        {choose && (
          <input
            type="checkbox"
            checked={chosen}
            onChange={(e) => choose(e.target.checked)}
            aria-label={t("pins.choose", { name: item.name })}
            className="accent-info"
          />
        )}
        <h4 className="m-0 min-w-0 flex-1 text-base font-[600]">
          <span className="font-normal text-ink3">{kind}</span> <Foreign text={item.name} className="font-mono text-sm" />
        </h4>
        <Drift item={item} />
      </div>
      {item.why && (
        <p className="m-0 text-ink2">
          <Foreign text={item.why} />
        </p>
      )}
      {item.findings.length > 0 && (
        <ul aria-label={t("pins.found")} className="m-0 flex list-none flex-col gap-1.5 p-0">
          {item.findings.map((f, i) => (
            <li key={i} className="flex gap-2">
              <Icon name="warn" size={14} className={cx("mt-0.5", f.holds ? "text-no" : "text-ink3")} />
              <span className="min-w-0">
                <Foreign text={f.why} className={f.holds ? "font-[550] text-no" : ""} />{" "}
                <code className="text-ink3">{f.field}</code>
                <Foreign text={f.excerpt} className="block font-mono text-sm text-ink2" />
              </span>
            </li>
          ))}
        </ul>
      )}
      {item.fields.map((f) => (
        <FieldChange key={f.field} field={f} />
      ))}
      {item.text && item.fields.length === 0 && <ForeignBlock text={item.text} from="server" label={t("pins.whole")} />}
      {item.text && item.fields.length > 0 && (
        <details>
          <summary className="text-sm text-info">{t("pins.showWhole")}</summary>
          <div className="mt-1.5">
            <ForeignBlock text={item.text} from="server" label={t("pins.whole")} />
          </div>
        </details>
      )}
    </li>
  );
}

function Drift({ item }: { item: PinItem }) {
  const t = useT();
  if (item.state === "refused") return <Badge tone="no">{t("pins.state.refused")}</Badge>;
  if (!item.before)
    return (
      <Badge tone="info" icon="warn">
        {t("pins.new")}
      </Badge>
    );
  if (item.drift === "widened")
    return (
      <Badge tone="no" icon="warn">
        {t("pins.widened")}
      </Badge>
    );
  return (
    <Badge tone="info" icon="warn">
      {t("pins.changed")}
    </Badge>
  );
}

function FieldChange({ field }: { field: PinItem["fields"][number] }) {
  const t = useT();
  return (
    <figure className="m-0 overflow-hidden rounded-lg border border-line font-mono text-sm">
      <figcaption className="flex flex-wrap items-baseline gap-x-3 border-b border-line bg-sunken px-3 py-1">
        <Foreign text={field.field} className="text-ink2" />
        {field.why && (
          <Foreign text={field.why} className={cx("font-sans", field.drift === "widened" ? "text-no" : "text-ink3")} />
        )}
      </figcaption>
      <Side sign="−" word={t("pins.was")} text={field.old} look="bg-no-bg text-no" />
      <Side sign="+" word={t("pins.is")} text={field.new} look="bg-ok-bg text-ok" />
    </figure>
  );
}

function Side({ sign, word, text, look }: { sign: string; word: string; text: string; look: string }) {
  if (text === "") return null;
  return (
    <div className={cx("flex px-3 py-0.5", look)}>
      <span aria-hidden className="w-4 shrink-0 select-none">
        {sign}
      </span>
      <span className="sr-only">{word}</span>
      <Foreign text={text} className="min-w-0 whitespace-pre-wrap" />
    </div>
  );
}
