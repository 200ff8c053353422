import { useLocale } from "@/lib/i18n";
import { inLanguage } from "@/lib/said";
import { Foreign } from "./foreign";

/** Said is a sentence of the daemon, in the reader's language where it is one that the page knows. Names that
 * servers chose stand in it: it is text like theirs. */
export function Said({ text, className }: { text: string; className?: string }) {
  return <Foreign text={inLanguage(text, useLocale())} {...(className !== undefined && { className })} />;
}
