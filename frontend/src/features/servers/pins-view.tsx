import { useState } from "react";
import { useAnswerPins, usePins } from "@/api/pins";
import { useT } from "@/lib/i18n";
import { useArmed } from "@/lib/use-armed";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { Failure, tell } from "@/ui/failure";
import { Section } from "@/ui/section";
import { PinAccepted } from "./pin-accepted";
import { PinCard } from "./pin-card";

/** PinsView is what a server shows of itself: what is held back with all that is new in it, and in one
 * line each what was accepted. */
export function PinsView({ name }: { name: string }) {
  const t = useT();
  const pins = usePins(name);
  const answer = useAnswerPins(name);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const binding = pins.data?.binding;
  const armed = useArmed(binding && !answer.isPending ? `${binding} ${[...left].join()}` : undefined);
  if (pins.isPending) return <Bones rows={5} />;
  if (!pins.data) {
    return (
      <div className="p-5">
        <Failure told={tell(pins.error)} retry={() => void pins.refetch()} />
      </div>
    );
  }
  const items = pins.data.items;
  const waits = items.filter((i) => i.state === "waits");
  const refused = items.filter((i) => i.state === "refused");
  const rest = items.filter((i) => i.state === "accepted" || i.state === "cosmetic");
  const key = (i: { kind: string; name: string }) => `${i.kind}/${i.name}`;
  const chosen = waits.filter((i) => !left.has(key(i)));
  const send = (accept: boolean) => {
    if (!armed || chosen.length === 0) return;
    const some = chosen.length < waits.length && { items: chosen.map(key) };
    answer.mutate({ accept, binding: pins.data.binding, ...some }, { onSuccess: () => setLeft(new Set()) });
  };
  if (items.length === 0) return <p className="m-0 p-5 text-ink2">{t("pins.empty")}</p>;
  return (
    <>
      {waits.length === 0 ? (
        <Section>
          <p className="m-0 text-ink2">{t("pins.none")}</p>
        </Section>
      ) : (
        <Section label={t("pins.waits", { n: waits.length })}>
          <p className="m-0 mb-2.5 text-ink2">{t("pins.waits.body")}</p>
          <ul aria-label={t("pins.waits", { n: waits.length })} className="m-0 flex list-none flex-col gap-3 p-0">
            {waits.map((i) => (
              <PinCard key={key(i)} item={i} chosen={!left.has(key(i))} choose={(on) => setLeft(toggled(left, key(i), !on))} />
            ))}
          </ul>
          {answer.error && (
            <p role="alert" className="m-0 mt-2 text-no">
              {[tell(answer.error).title, tell(answer.error).detail].filter(Boolean).join(": ")}
            </p>
          )}
          <div className="mt-3 flex flex-wrap justify-end gap-2">
            <Button look="danger" disabled={!armed || chosen.length === 0} onClick={() => send(false)}>
              {t("pins.reject", { n: chosen.length })}
            </Button>
            <Button disabled={!armed || chosen.length === 0} onClick={() => send(true)}>
              {t("pins.accept", { n: chosen.length })}
            </Button>
          </div>
        </Section>
      )}
      {refused.length > 0 && (
        <Section label={t("pins.refused")}>
          <ul aria-label={t("pins.refused")} className="m-0 flex list-none flex-col gap-3 p-0">
            {refused.map((i) => (
              <PinCard key={key(i)} item={i} />
            ))}
          </ul>
        </Section>
      )}
      {rest.length > 0 && (
        <Section label={t("pins.accepted", { n: rest.length })}>
          <ul aria-label={t("pins.accepted", { n: rest.length })} className="m-0 flex list-none flex-col gap-1 p-0">
            {rest.map((i) => (
              <PinAccepted key={key(i)} item={i} />
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function toggled(set: ReadonlySet<string>, key: string, on: boolean): ReadonlySet<string> {
  const next = new Set(set);
  if (on) next.add(key);
  else next.delete(key);
  return next;
}
