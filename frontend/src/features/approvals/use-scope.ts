import { useState } from "react";
import { usePreview } from "@/api/approvals";
import type { Offer, Permit } from "@/api/types";
import { useSettled } from "@/lib/use-settled";

/** How long a pattern stands still before its preview is asked for, in milliseconds. */
const typing = 300;

/** Scope is how far a yes would reach, and what that means in the daemon's words. */
export interface Scope {
  permit: Permit;
  /** Words and preview of exactly this permit; undefined until they are known. */
  offer: Offer | undefined;
  problem: unknown;
  choose: (offer: Offer) => void;
  edit: (permit: Permit) => void;
}

/** useScope is once until the person chooses otherwise. What is chosen stays as it was shown, whatever
 * is offered later; what is edited is asked about anew. */
export function useScope(id: string | undefined, offers: Offer[]): Scope {
  const [permit, setPermit] = useState<Permit>({ scope: "once" });
  const [given, setGiven] = useState<Offer>();
  const settled = useSettled(permit, typing);
  const once = permit.scope === "once";
  const edited = !once && !given;
  const preview = usePreview(id, edited && settled === permit ? permit : undefined);
  const first = offers.find((o) => (o.scope ?? "once") === "once");
  const known = once ? first : given;
  return {
    permit,
    offer: edited ? (settled === permit ? preview.data : undefined) : known,
    problem: edited && settled === permit ? preview.error : null,
    choose: (offer) => {
      setGiven(offer);
      setPermit(permitOf(offer));
    },
    edit: (next) => {
      setGiven(undefined);
      setPermit(next);
    },
  };
}

/** permitOf is an offer without its words. */
export function permitOf({ scope, until, match }: Offer): Permit {
  return { scope: scope ?? "once", ...(until !== undefined && { until }), ...(match?.length && { match }) };
}
