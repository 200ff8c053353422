import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { useExplanation } from "@/api/policy";
import { useServers } from "@/api/servers";
import type { ExplainRequest } from "@/api/types";
import { useT } from "@/lib/i18n";
import { Bones } from "@/ui/bones";
import { Button } from "@/ui/button";
import { Failure, tell } from "@/ui/failure";
import { ExplanationView } from "./explanation";
import { Field } from "@/ui/field";

const route = getRouteApi("/policy");

/** ExplainView asks what would be decided about a call, and why. What is asked stands in the address. */
export function ExplainView() {
  const t = useT();
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/policy" });
  const servers = useServers().data ?? [];
  const [server, setServer] = useState(search.server ?? "");
  const [tool, setTool] = useState(search.tool ?? "");
  const [agent, setAgent] = useState(search.agent ?? "");
  const [text, setText] = useState(search.arguments ?? "");
  const asked = request(search);
  const found = useExplanation(asked);
  const wrong = text.trim() !== "" && objectOf(text) === undefined;
  const tools = servers.find((s) => s.name === server)?.tools ?? [];
  const ask = (e: FormEvent) => {
    e.preventDefault();
    if (wrong) return;
    void navigate({ search: { tab: "explain", server, tool, agent: agent || undefined, arguments: text.trim() || undefined } });
  };
  return (
    <>
      <form onSubmit={ask} className="grid grid-cols-3 gap-x-3 gap-y-2.5 max-[720px]:grid-cols-1">
        <Field label={t("explain.server")} value={server} change={setServer} list={servers.map((s) => s.name)} required />
        <Field label={t("explain.tool")} value={tool} change={setTool} list={tools.map((x) => x.name)} required />
        <Field label={t("explain.agent")} value={agent} change={setAgent} placeholder={t("explain.agent.none")} />
        <div className="col-span-full">
          <Field
            label={t("explain.arguments")}
            value={text}
            change={setText}
            placeholder='{"path": "/home/ana/shop/src/a.ts"}'
            lines={3}
          />
          {wrong && <p className="m-0 mt-1 text-sm text-no">{t("explain.notObject")}</p>}
        </div>
        <div>
          <Button type="submit" look="primary" disabled={!server || !tool || wrong}>
            {t("explain.ask")}
          </Button>
        </div>
      </form>
      {asked && found.isPending && <Bones rows={4} />}
      {found.isError && <Failure told={tell(found.error)} heading={t("explain.failed")} />}
      {found.data && <ExplanationView explanation={found.data} />}
    </>
  );
}

interface Search {
  call?: string;
  server?: string;
  tool?: string;
  agent?: string;
  arguments?: string;
}

/** request is what the address asks; undefined where it names neither a call nor a tool. */
function request({ call, server, tool, agent, arguments: text }: Search): ExplainRequest | undefined {
  if (call) return { call };
  if (!server || !tool) return undefined;
  const args = text === undefined ? undefined : objectOf(text);
  if (text !== undefined && args === undefined) return undefined;
  return { server, tool, ...(agent && { agent }), ...(args && { arguments: args }) };
}

function objectOf(text: string): object | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // said beside the field
  }
}
