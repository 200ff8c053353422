import { useT, type Key } from "@/lib/i18n";
import { Badge, type BadgeTone } from "@/ui/badge";

const tones: Record<string, BadgeTone> = { allow: "ok", ask: "info", deny: "no" };

/** EffectBadge is what is done about a call, in a word. */
export function EffectBadge({ effect }: { effect: string }) {
  const t = useT();
  return <Badge tone={tones[effect] ?? "plain"}>{t(`effect.${effect}` as Key)}</Badge>;
}
