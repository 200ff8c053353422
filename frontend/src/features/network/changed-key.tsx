import type { NetworkTried } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Fingerprint } from "@/ui/fingerprint";
import { Foreign } from "@/ui/foreign";
import { Icon } from "@/ui/icon";
import { written } from "./rows";

interface Props {
  tried: NetworkTried;
  /** The keys by which the host is known, where servers.yaml has them. */
  known: string[];
}

/** ChangedKey warns of a host that names itself by another key than it is known by. Nothing here lets it in: somebody
 * may stand in between, and only who runs the host can say otherwise. */
export function ChangedKey({ tried, known }: Props) {
  const t = useT();
  return (
    <div role="alert" className="mx-5 mt-3 flex flex-col gap-2 rounded-lg border-2 border-no bg-no-bg px-4 py-3 max-[480px]:mx-4">
      <h3 className="m-0 flex items-start gap-2 text-md font-[640] text-no">
        <Icon name="warn" className="mt-0.5" />
        <Foreign text={t("network.changed", { host: written(tried.host, tried.port ?? 22) })} />
      </h3>
      <p className="m-0 text-pretty text-ink">{t("network.changed.body")}</p>
      {tried.key && (
        <div className="flex flex-col gap-1">
          <span className="text-sm text-ink2">{t("network.changed.now")}</span>
          <Fingerprint text={tried.key} />
        </div>
      )}
      {known.map((key) => (
        <div key={key} className="flex flex-col gap-1">
          <span className="text-sm text-ink2">{t("network.changed.known")}</span>
          <Fingerprint text={key} />
        </div>
      ))}
    </div>
  );
}
