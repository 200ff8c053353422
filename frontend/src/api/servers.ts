import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, post } from "./transport";
import type { Progress, Server, ServerLog } from "./types";

export function useServers() {
  return useQuery({ queryKey: ["servers"], queryFn: async () => (await get<Server[] | null>("/servers")) ?? [] });
}

/** useServerLog follows the last lines a server wrote to its stderr: hostile text. */
export function useServerLog(name: string) {
  return useQuery({
    queryKey: ["log", name],
    queryFn: async () => (await get<ServerLog>(`/servers/${encodeURIComponent(name)}/log`)).lines ?? [],
    refetchInterval: 2000, // lines are no events
  });
}

export function useStopServer() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => post<void>(`/servers/${encodeURIComponent(name)}/stop`),
    onSettled: () => client.invalidateQueries({ queryKey: ["servers"] }),
  });
}

/** useProgress is the long work under way for a server: from its events, or as it was listed. */
export function useProgress(server: Server): Progress | null {
  const live = useQuery<Progress | null>({ queryKey: ["progress", server.name], queryFn: () => null, enabled: false });
  return live.data === undefined ? (server.progress ?? null) : live.data;
}
