import { useMutation, useQueries, useQueryClient } from "@tanstack/react-query";
import { get, post } from "./transport";
import type { Network, NetworkChange } from "./types";

const lookEvery = 3000;
const path = (server: string) => `/servers/${encodeURIComponent(server)}/network`;

/** useNetworks is what each server may reach, reaches, and was refused, in the order of the names. */
export function useNetworks(servers: string[]) {
  return useQueries({
    queries: servers.map((name) => ({
      queryKey: ["network", name],
      queryFn: () => get<Network>(path(name)),
      // Bytes are no events: while something is open they are asked for.
      refetchInterval: (query: { state: { data?: Network | undefined } }) =>
        (query.state.data?.live.length ?? 0) > 0 && lookEvery,
    })),
  });
}

/** useChangeNetwork allows a server a host, or takes it back. */
export function useChangeNetwork(server: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: NetworkChange) => post<Network>(path(server), change),
    onSuccess: (now) => client.setQueryData(["network", server], now),
    onError: () => client.invalidateQueries({ queryKey: ["network", server] }),
  });
}
