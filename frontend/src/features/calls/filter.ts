import { kindOf, type Kind } from "@/api/decision";
import type { Call } from "@/api/types";

/** matches says whether a call is of the kind shown and has every word of q somewhere. */
export function matches(call: Call, q: string | undefined, show: string | undefined): boolean {
  if (show && kindOf(call) !== (show as Kind)) return false;
  const words = (q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = [call.agent, call.server, call.tool, call.sentence, call.class, call.id, ...call.changes.map((c) => c.path)]
    .join(" ")
    .toLowerCase();
  return words.every((w) => text.includes(w));
}
