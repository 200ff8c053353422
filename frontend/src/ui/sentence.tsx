import { useMemo } from "react";
import { tell } from "@/lib/tell";
import { Foreign } from "./foreign";

/** Sentence tells a call as a person would; its objects stand in monospace. */
export function Sentence({ text }: { text: string }) {
  const words = useMemo(() => tell(text), [text]);
  return (
    <bdi>
      {words.map((w, i) =>
        w.object ? <Foreign key={i} text={w.text} className="font-mono text-[0.93em]" /> : <Foreign key={i} text={w.text} />,
      )}
    </bdi>
  );
}
