import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, post } from "./transport";
import type { ApplyRequest, ApplyResult, Workspace, WorkspaceDiff } from "./types";

export function useWorkspaces() {
  return useQuery({ queryKey: ["workspaces"], queryFn: async () => (await get<Workspace[] | null>("/workspaces")) ?? [] });
}

export function useWorkspaceDiff(workspace: Workspace | undefined) {
  return useQuery({
    queryKey: ["diff", workspace?.id],
    enabled: workspace !== undefined,
    queryFn: () =>
      get<WorkspaceDiff>(
        `/workspaces/${encodeURIComponent(workspace?.server ?? "")}/diff?agent=${encodeURIComponent(workspace?.agent ?? "")}`,
      ),
  });
}

export type WorkspaceAction = "apply" | "discard";

interface Meant {
  workspace: Workspace;
  action: WorkspaceAction;
  seen: string;
  paths?: string[];
}

/** useWorkspaceAction applies changes to the host's files, or throws them away. No paths: all that is not held. */
export function useWorkspaceAction() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ workspace, action, seen, paths }: Meant) => {
      const request: ApplyRequest = { agent: workspace.agent, seen, ...(paths && { paths }) };
      return post<ApplyResult>(`/workspaces/${encodeURIComponent(workspace.server)}/${action}`, request);
    },
    onSettled: () =>
      Promise.all([client.invalidateQueries({ queryKey: ["workspaces"] }), client.invalidateQueries({ queryKey: ["diff"] })]),
  });
}
