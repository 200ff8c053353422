import { useEffect, useRef, useState } from "react";
import { useAcceptPolicy } from "@/api/policy";
import type { ProjectPolicy } from "@/api/types";
import { useT } from "@/lib/i18n";
import { useArmed } from "@/lib/use-armed";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Failure, tell } from "@/ui/failure";
import { Foreign } from "@/ui/foreign";
import { Scroll } from "@/ui/scroll";
import { useWatched, Watched } from "@/ui/unseen";
import { RuleList } from "./rule-list";

interface Props {
  project: ProjectPolicy;
  remove: boolean;
  close: () => void;
}

/** ProjectDialog shows all that accepting a folder's policy, or taking that back, would change. What it
 * allows counts only if the person says so apart. Focus rests on leaving it be. */
export function ProjectDialog({ project, remove, close }: Props) {
  const t = useT();
  const accept = useAcceptPolicy();
  const [allows, setAllows] = useState(false);
  const [unseen, note] = useWatched();
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  const armed = useArmed(`${allows} ${project.digest} ${project.accepted}`) && !unseen && !accept.isPending;
  const run = () =>
    accept.mutate(
      {
        dir: project.dir,
        digest: (remove ? project.accepted : project.digest) ?? "",
        ...(allows && { allows }),
        ...(remove && { remove }),
      },
      { onSuccess: close },
    );
  return (
    <Dialog labelledBy="project-title" close={close} className="w-[640px]">
      <div className="px-[22px] pt-5 pb-2">
        <h2 id="project-title" className="m-0 mb-1 text-xl font-[640] tracking-[-0.015em]">
          {t(remove ? "policy.project.remove" : "policy.project.accept")}
        </h2>
        <p className="m-0 text-ink2">
          <Foreign text={project.file} className="font-mono text-sm text-ink" />.{" "}
          {t(remove ? "policy.project.remove.body" : "policy.project.accept.body")}
        </p>
      </div>
      <Watched note={note}>
        <Scroll label={t("policy.project.accept")} className="min-h-24 flex-auto px-[22px]">
          {!remove && (
            <>
              <Part label={t("policy.project.narrows")} rules={project.narrows} />
              <Part label={t("policy.project.lost")} rules={project.lost} />
              <Part label={t("policy.project.widens")} rules={project.widens} />
            </>
          )}
        </Scroll>
      </Watched>
      {!remove && project.widens.length > 0 && (
        <label className="flex items-start gap-2 px-[22px] py-2">
          <input type="checkbox" checked={allows} onChange={(e) => setAllows(e.target.checked)} className="mt-0.5 accent-info" />
          <span>{t("policy.project.allows", { n: project.widens.length })}</span>
        </label>
      )}
      {accept.error && (
        <div className="px-[22px] py-2">
          <Failure told={tell(accept.error)} />
        </div>
      )}
      <div className="flex justify-end gap-2 px-[22px] pt-3 pb-4">
        <Button ref={keep} onClick={close}>
          {t("policy.project.leave")}
        </Button>
        <Button look={remove ? "danger" : "primary"} disabled={!armed} onClick={run}>
          {t(remove ? "policy.project.takeBack" : "policy.project.acceptButton")}
        </Button>
      </div>
    </Dialog>
  );
}

function Part({ label, rules }: { label: string; rules: ProjectPolicy["narrows"] }) {
  if (rules.length === 0) return null;
  return (
    <section className="pt-2">
      <h3 className="m-0 text-sm font-[550] text-ink3">{label}</h3>
      <RuleList label={label} rules={rules} />
    </section>
  );
}
