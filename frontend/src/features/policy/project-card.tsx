import { useState } from "react";
import type { ProjectPolicy } from "@/api/types";
import { moment } from "@/lib/format";
import { useLocale, useT, type Key } from "@/lib/i18n";
import { cx } from "@/lib/cx";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Foreign } from "@/ui/foreign";
import { ProjectDialog } from "./project-dialog";
import { Problems } from "./problems";

const waits = (p: ProjectPolicy) => p.state === "new" || p.state === "changed";

/** ProjectCard is a policy that came with a folder: what it would change, and what the person said to it. */
export function ProjectCard({ project }: { project: ProjectPolicy }) {
  const t = useT();
  const locale = useLocale();
  const [open, setOpen] = useState<"accept" | "remove">();
  const waiting = waits(project);
  return (
    <section
      aria-label={t("policy.project", { dir: project.dir })}
      className={cx(
        "flex flex-col gap-1.5 rounded-xl border px-5 py-4",
        waiting ? "border-wait-line bg-wait-bg" : "border-line bg-surface",
      )}
    >
      <div className="flex flex-wrap items-center gap-3">
        <h2 className="m-0 min-w-0 flex-1 text-md font-[600]">
          {t("policy.project.title")} <Foreign text={project.dir} className="font-mono text-sm" />
        </h2>
        <Badge tone={waiting ? "wait" : project.state === "invalid" ? "no" : "plain"} icon={waiting ? "dot" : undefined}>
          {t(`policy.project.${project.state}` as Key)}
        </Badge>
      </div>
      <p className="m-0 text-ink2">
        {project.servers.length > 0
          ? t("policy.project.servers", { servers: project.servers.join(", ") })
          : t("policy.project.noServers")}{" "}
        {t("policy.project.sum", { narrows: project.narrows.length, widens: project.widens.length, lost: project.lost.length })}
        {project.at && <> {t("policy.project.by", { time: moment(project.at, locale), who: project.by ?? "" })}</>}
      </p>
      <Problems problems={project.problems} />
      <div className="flex gap-2 pt-1">
        {waiting && (
          <Button small onClick={() => setOpen("accept")}>
            {t("policy.project.look")}
          </Button>
        )}
        {project.accepted && (
          <Button small look="danger" onClick={() => setOpen("remove")}>
            {t("policy.project.takeBack")}
          </Button>
        )}
      </div>
      {open && <ProjectDialog project={project} remove={open === "remove"} close={() => setOpen(undefined)} />}
    </section>
  );
}
