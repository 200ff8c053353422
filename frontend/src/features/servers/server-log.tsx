import { useEffect, useRef } from "react";
import { useServerLog } from "@/api/servers";
import { useT } from "@/lib/i18n";
import { split } from "@/lib/visible";
import { Bones } from "@/ui/bones";
import { Failure, tell } from "@/ui/failure";
import { Segments } from "@/ui/foreign";

/** ServerLog is the last lines a server wrote to its stderr, as text. */
export function ServerLog({ name }: { name: string }) {
  const t = useT();
  const log = useServerLog(name);
  const end = useRef<HTMLDivElement>(null);
  const count = log.data?.length ?? 0;
  useEffect(() => end.current?.scrollIntoView?.({ block: "nearest" }), [count]);
  if (log.isPending) return <Bones rows={5} />;
  if (log.isError) {
    return (
      <div className="p-5">
        <Failure told={tell(log.error)} retry={() => void log.refetch()} />
      </div>
    );
  }
  if (count === 0) return <p className="m-0 p-5 text-ink2">{t("servers.log.empty")}</p>;
  return (
    <div className="px-5 py-4">
      <p className="m-0 mb-1.5 text-right text-sm text-ink3">{t("common.fromServer")}</p>
      <pre className="foreign m-0 rounded-lg border border-line bg-sunken px-3 py-2 leading-[1.6] whitespace-pre-wrap">
        {log.data.map((line, i) => (
          <div key={i} dir="auto">
            <Segments segments={split(line, false)} />
          </div>
        ))}
      </pre>
      <div ref={end} />
    </div>
  );
}
