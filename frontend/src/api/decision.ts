import type { Key } from "@/lib/i18n";
import type { Call } from "./types";

/** Tone says which colour a decision has: lamp for what waits, blue for a person's own choice. */
export type Tone = "wait" | "ok" | "no" | "info" | "plain";

export interface Told {
  tone: Tone;
  word: Key;
}

/** told is the one word for where a call stands. */
export function told(call: Call): Told {
  if (call.outcome === "waiting") return { tone: "wait", word: "decision.waiting" };
  if (call.outcome === "withheld") return { tone: "no", word: "decision.withheld" };
  if (call.effect !== "allow") return refused(call);
  if (call.outcome === "failed") return { tone: "no", word: "decision.failed" };
  if (call.outcome === "unknown") return { tone: "no", word: "decision.unknown" };
  if (call.outcome === "running") return { tone: "plain", word: "decision.running" };
  if (call.answer === "approved") return { tone: "info", word: "decision.approved" };
  if (call.class === "read") return { tone: "ok", word: "decision.read" };
  return { tone: "ok", word: "decision.allowed" };
}

function refused(call: Call): Told {
  switch (call.answer) {
    case "denied":
      return { tone: "no", word: "decision.denied" };
    case "expired":
      return { tone: "plain", word: "decision.expired" };
    case "withdrawn":
      return { tone: "plain", word: "decision.withdrawn" };
    default:
      return { tone: "no", word: "decision.blocked" };
  }
}

/** Kind is the coarse sort of a call, for filters and pictures. */
export type Kind = "waiting" | "read" | "you" | "refused" | "other";

export function kindOf(call: Call): Kind {
  const { tone, word } = told(call);
  if (tone === "wait") return "waiting";
  if (tone === "no") return "refused";
  if (word === "decision.approved") return "you";
  if (tone === "ok") return "read";
  return "other";
}
