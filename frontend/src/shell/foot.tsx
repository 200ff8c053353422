import { useLink } from "@/api/events";
import { useStatus } from "@/api/system";
import { useT } from "@/lib/i18n";
import { Said } from "@/ui/said";
import { tell } from "@/ui/failure";
import { Icon } from "@/ui/icon";

/** Foot is one honest line on the state of the system. */
export function Foot() {
  const t = useT();
  const status = useStatus();
  const link = useLink();
  const down = link === "down";
  const data = status.data;
  const bad = down || status.isError || data?.ok === false;
  const sentence = down
    ? t("foot.unreachable")
    : status.isError
      ? tell(status.error).title
      : (data?.sentence ?? t("foot.asking"));
  return (
    <p role="status" className="m-0 px-2 text-sm text-ink3">
      <span className={`flex items-start gap-1.5 ${bad ? "text-no" : ""}`}>
        {bad && <Icon name="warn" size={13} className="mt-0.5" />}
        <Said text={sentence} />
      </span>
      {!bad && data && (
        <span className="tabular">
          {t("foot.servers", { n: data.servers })} · {t("foot.running", { n: data.running })}
        </span>
      )}
    </p>
  );
}
