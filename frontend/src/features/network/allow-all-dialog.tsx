import { useState } from "react";
import { useChangeNetwork } from "@/api/network";
import { useT } from "@/lib/i18n";
import { useArmed } from "@/lib/use-armed";
import { visible } from "@/lib/visible";
import { AskDialog } from "@/ui/ask-dialog";
import { Foreign } from "@/ui/foreign";
import { Scroll } from "@/ui/scroll";
import { inWords } from "./words";

interface Props {
  server: string;
  rules: string[];
  /** close is told how many hosts were allowed. */
  close: (done: number) => void;
}

/** AllowAllDialog shows every host that a server tried, each with its box, before any is allowed. */
export function AllowAllDialog({ server, rules, close }: Props) {
  const t = useT();
  const change = useChangeNetwork(server);
  const [shown] = useState(rules); // what is allowed meanwhile stays in its place
  const [taken, setTaken] = useState<ReadonlySet<string>>(new Set(rules));
  const [busy, setBusy] = useState(false);
  const wanted = shown.filter((r) => taken.has(r));
  const armed = useArmed(busy ? undefined : `${server} ${wanted.join(" ")}`);
  const toggle = (rule: string) => {
    const next = new Set(taken);
    if (!next.delete(rule)) next.add(rule);
    setTaken(next);
  };
  const run = async () => {
    setBusy(true);
    let done = 0;
    try {
      for (const host of wanted) {
        await change.mutateAsync({ host, allow: true });
        done++;
      }
      close(done);
    } catch {
      setTaken(new Set(wanted.slice(done))); // the error stands in the dialog
    } finally {
      setBusy(false);
    }
  };
  return (
    <AskDialog
      className="w-[560px]"
      title={t("network.confirmAll", { server: visible(server) })}
      body={t("network.confirm.body", { server: visible(server) })}
      keep={t("network.confirmAll.keep")}
      act={t("network.confirmAll.act", { n: wanted.length })}
      look="primary"
      disabled={!armed || wanted.length === 0}
      error={change.error}
      run={() => void run()}
      close={() => close(0)}
    >
      <Scroll label={t("network.tried", { server: visible(server) })} className="max-h-[320px] rounded-lg border border-line">
        <ul className="m-0 flex list-none flex-col divide-y divide-line p-0">
          {shown.map((rule) => (
            <li key={rule}>
              <label className="flex items-start gap-2.5 px-3 py-2">
                <input
                  type="checkbox"
                  checked={taken.has(rule)}
                  disabled={busy}
                  onChange={() => toggle(rule)}
                  className="mt-[3px] accent-info"
                />
                <span className="min-w-0">
                  <Foreign text={rule} className="block font-mono text-sm" />
                  <span className="block text-sm text-pretty text-ink3">{inWords(rule, t)}</span>
                </span>
              </label>
            </li>
          ))}
        </ul>
      </Scroll>
    </AskDialog>
  );
}
