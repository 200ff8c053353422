import type { Approval } from "@/api/types";
import { useCall } from "@/api/calls";
import { useSecrets } from "@/api/secrets";
import { useWorkspaceDiff, useWorkspaces } from "@/api/workspaces";
import { bytes as size } from "@/lib/format";
import { useLocale, useT } from "@/lib/i18n";
import { parse as parseJSON } from "@/lib/raw-json";
import { Arguments } from "@/ui/arguments";
import { Bones } from "@/ui/bones";
import { ChangeList } from "@/ui/change-list";
import { DefinitionDiff } from "@/ui/definition-diff";
import { Diff } from "@/ui/diff";
import { Facts } from "@/ui/facts";
import { Failure, tell } from "@/ui/failure";
import { Fingerprint } from "@/ui/fingerprint";
import { Foreign } from "@/ui/foreign";
import { ForeignBlock } from "@/ui/foreign-block";
import { Icon } from "@/ui/icon";
import { Sentence } from "@/ui/sentence";

interface Props {
  approval: Approval;
  raw: string | undefined;
  /** Answers to what the server asked in the middle of the call, which are sent along. */
  input: string | undefined;
  unfolded: boolean;
}

/** Subject is what a yes would let happen, whole, by the kind of question. */
export function Subject({ approval, raw, input, unfolded }: Props) {
  const t = useT();
  if (approval.tool) return <ToolSubject tool={approval.tool} />;
  if (approval.apply) return <ApplySubject approval={approval} />;
  if (approval.network) return <NetworkSubject server={approval.call.server} network={approval.network} />;
  if (approval.install) return <InstallSubject install={approval.install} />;
  if (approval.exec) return <ExecSubject server={approval.call.server} exec={approval.exec} />;
  if (approval.secret?.agent) return <AgentSubject approval={approval} secret={approval.secret} agent={approval.secret.agent} />;
  if (approval.secret) return <SecretSubject approval={approval} secret={approval.secret} />;
  return (
    <>
      <CallSubject approval={approval} raw={raw} unfolded={unfolded} />
      {input && (
        <>
          <p className="m-0 text-sm text-ink3">{t("call.input")}</p>
          <Arguments raw={input} />
        </>
      )}
    </>
  );
}

/** CallSubject: a foreseen change as a diff, and every argument that the diff does not show. */
function CallSubject({ approval: { diff }, raw, unfolded }: Omit<Props, "input">) {
  const t = useT();
  if (!raw || raw.replace(/\s/g, "") === "{}") return <p className="m-0 text-ink3">{t("call.arguments.none")}</p>;
  if (!diff) return <Arguments raw={raw} />;
  const shown = shownByDiff(raw);
  const rest = shown && shown.keys.some((k) => !shown.used.includes(k));
  return (
    <>
      <Diff path={diff.path} unified={diff.unified} note={diff.note} />
      {unfolded || !shown ? (
        <Arguments raw={raw} />
      ) : (
        rest && (
          <>
            <p className="m-0 text-sm text-ink3">{t("approval.alsoSent")}</p>
            <Arguments raw={raw} except={shown.used} />
          </>
        )
      )}
    </>
  );
}

/** shownByDiff names the arguments whose values a foreseen change shows, as the daemon takes them;
 * undefined where a key stands twice, and nobody knows which one counts. */
function shownByDiff(raw: string): { keys: string[]; used: string[] } | undefined {
  const node = parseJSON(raw);
  if (node.kind !== "object") return undefined;
  const keys = node.members.map((m) => m.key);
  if (new Set(keys).size !== keys.length) return undefined;
  const path = keys.includes("path") ? "path" : "file_path";
  const content = keys.includes("content") ? "content" : "contents";
  return { keys, used: [path, content] };
}

function ToolSubject({ tool }: { tool: NonNullable<Approval["tool"]> }) {
  const t = useT();
  return (
    <>
      <Doubts doubts={tool.findings} />
      <DefinitionDiff text={tool.diff ?? ""} name={tool.tool} />
      <p className="m-0 text-ink2">{t(tool.before ? "approval.tool.changed" : "approval.tool.new")}</p>
    </>
  );
}

/** ApplySubject shows the workspace's changes as they were when it was asked; what came after is not part of it. */
function ApplySubject({ approval }: { approval: Approval }) {
  const t = useT();
  const apply = approval.apply!;
  const workspace = useWorkspaces().data?.find((w) => w.id === apply.workspace);
  const diff = useWorkspaceDiff(workspace);
  const files = (diff.data?.files ?? []).filter((f) => apply.paths.length === 0 || apply.paths.includes(`${f.folder}/${f.path}`));
  if (diff.isError) return <Failure told={tell(diff.error)} retry={() => void diff.refetch()} />;
  if (!diff.data && apply.paths.length === 0) return <Bones rows={4} />;
  return (
    <>
      {diff.data && diff.data.seen !== apply.seen && (
        <p role="status" className="m-0 text-no">
          {t("approval.apply.later")}
        </p>
      )}
      {files.length === 0 && <ChangeList changes={apply.paths.map((path) => ({ path, kind: "modified" }))} />}
      {files.map((f) => (
        <Diff key={`${f.folder}/${f.path}`} path={`${f.folder}/${f.path}`} unified={f.unified} note={f.note} />
      ))}
    </>
  );
}

function NetworkSubject({ server, network }: { server: string; network: NonNullable<Approval["network"]> }) {
  const t = useT();
  const call = useCall(network.call || undefined).data?.call;
  const locale = useLocale();
  const { upload } = network;
  return (
    <>
      {network.host_key && (
        <div className="flex flex-col gap-1.5">
          <span className="text-sm text-ink3">
            {t("approval.hostKey")} <Foreign text={network.host_key.type} className="font-mono" />
          </span>
          <Fingerprint text={network.host_key.fingerprint} />
        </div>
      )}
      {upload && upload.kinds.length > 0 && <Doubts doubts={upload.kinds.map((kind) => t("approval.upload.kind", { kind }))} />}
      <Facts
        facts={[
          [t("approval.network.who"), <Foreign key="s" text={server} className="font-mono text-sm" />],
          [t("approval.network.hosts"), <Lines key="h" lines={network.hosts} />],
          [
            t("approval.network.addresses"),
            network.addresses?.length ? (
              <Lines key="a" lines={network.addresses} />
            ) : (
              !network.after && !network.host_key && <span className="text-ink2">{t("approval.network.notLookedUp")}</span>
            ),
          ],
          [
            t("approval.upload.size"),
            upload && upload.bytes > 0 && t("approval.upload.bytes", { size: size(upload.bytes, locale) }),
          ],
          [t("approval.network.call"), call && <Sentence text={call.sentence} />],
        ]}
      />
      <p className="m-0 text-ink2">
        {t(
          network.host_key
            ? "approval.hostKey.body"
            : upload
              ? "approval.upload.body"
              : network.after
                ? "approval.network.after"
                : "approval.network.before",
        )}
      </p>
    </>
  );
}

/** Lines are hosts or addresses, one under the other. */
function Lines({ lines }: { lines: string[] }) {
  return (
    <ul className="m-0 list-none p-0">
      {lines.map((line) => (
        <li key={line}>
          <Foreign text={line} className="font-mono text-sm" />
        </li>
      ))}
    </ul>
  );
}

function InstallSubject({ install }: { install: NonNullable<Approval["install"]> }) {
  const t = useT();
  return (
    <>
      <Doubts doubts={install.doubts ?? []} />
      <Facts
        facts={[
          [t("approval.install.package"), <Foreign key="p" text={install.package} className="font-mono text-sm" />],
          [
            t("servers.integrity"),
            install.integrity ? (
              <Foreign text={install.integrity} className="font-mono text-sm" />
            ) : (
              <span className="text-no">{t("approval.install.unknown")}</span>
            ),
          ],
        ]}
      />
      {install.script && <ForeignBlock text={install.script} from="server" label={t("approval.install.script")} />}
      <p className="m-0 text-ink2">{t(install.script ? "approval.install.script.body" : "approval.install.body")}</p>
    </>
  );
}

/** Doubts is why a person is asked, a sentence each. */
function Doubts({ doubts }: { doubts: string[] }) {
  const t = useT();
  if (doubts.length === 0) return null;
  return (
    <ul aria-label={t("pins.found")} className="m-0 flex list-none flex-col gap-1 p-0">
      {doubts.map((d, i) => (
        <li key={i} className="flex gap-2 text-no">
          <Icon name="warn" size={14} className="mt-0.5" />
          <Foreign text={d} />
        </li>
      ))}
    </ul>
  );
}

/** ExecSubject is a program that a server wants to run: the words of its line are the server's own. */
function ExecSubject({ server, exec }: { server: string; exec: NonNullable<Approval["exec"]> }) {
  const t = useT();
  const call = useCall(exec.call || undefined).data?.call;
  return (
    <>
      <ForeignBlock text={exec.line} from="server" label={t("approval.exec.line")} />
      <Facts
        facts={[
          [t("approval.network.who"), <Foreign key="s" text={server} className="font-mono text-sm" />],
          [
            t("approval.exec.path"),
            exec.path ? (
              <Foreign key="p" text={exec.path} className="font-mono text-sm" />
            ) : (
              <span className="text-no">{t("approval.exec.memory")}</span>
            ),
          ],
          [t("approval.exec.script"), exec.script && <Foreign text={exec.script} className="font-mono text-sm" />],
          [t("approval.exec.dir"), exec.dir && <Foreign text={exec.dir} className="font-mono text-sm" />],
          [t("approval.network.call"), call && <Sentence text={call.sentence} />],
        ]}
      />
      <p className="m-0 text-ink2">{t("approval.exec.body")}</p>
    </>
  );
}

interface AgentProps {
  approval: Approval;
  secret: NonNullable<Approval["secret"]>;
  agent: NonNullable<NonNullable<Approval["secret"]>["agent"]>;
}

/** AgentSubject is one signature that a server wants of the person's own ssh agent. */
function AgentSubject({ approval, secret, agent }: AgentProps) {
  const t = useT();
  const call = useCall(approval.call.id || undefined).data?.call;
  return (
    <>
      <Facts
        facts={[
          [t("approval.network.who"), <Foreign key="s" text={approval.call.server} className="font-mono text-sm" />],
          [t("approval.agent.host"), <Lines key="h" lines={secret.hosts} />],
          [t("approval.agent.user"), <Foreign key="u" text={agent.user} className="font-mono text-sm" />],
          [t("approval.agent.comment"), agent.comment && <Foreign text={agent.comment} className="font-mono text-sm" />],
          [t("approval.network.call"), call && <Sentence text={call.sentence} />],
        ]}
      />
      <div className="flex flex-col gap-1.5">
        <span className="text-sm text-ink3">{t("approval.agent.key")}</span>
        <Fingerprint text={secret.secret} />
      </div>
      {agent.host_key && (
        <div className="flex flex-col gap-1.5">
          <span className="text-sm text-ink3">{t("approval.hostKey")}</span>
          <Fingerprint text={agent.host_key} />
        </div>
      )}
      <p className="m-0 text-ink2">{t("approval.agent.body")}</p>
    </>
  );
}

function SecretSubject({ approval, secret }: { approval: Approval; secret: NonNullable<Approval["secret"]> }) {
  const t = useT();
  const known = useSecrets().data?.secrets.find((s) => s.name === secret.secret);
  const call = useCall(approval.call.id || undefined).data?.call;
  return (
    <>
      <Facts
        facts={[
          [t("approval.network.who"), <Foreign key="s" text={approval.call.server} className="font-mono text-sm" />],
          [
            t("approval.secret.name"),
            <span key="n">
              <Foreign text={secret.secret} className="font-mono text-sm" />
              {known && known.version > 0 && (
                <span className="text-ink3"> {t("secrets.version", { version: known.version })}</span>
              )}
            </span>,
          ],
          [
            t("approval.secret.hosts"),
            secret.hosts.length > 0 ? (
              <Lines key="h" lines={secret.hosts} />
            ) : (
              <span className="text-no">{t("approval.secret.anywhere")}</span>
            ),
          ],
          [t("approval.network.call"), call && <Sentence text={call.sentence} />],
        ]}
      />
      <p className="m-0 text-ink2">{t("approval.secret.body")}</p>
    </>
  );
}
