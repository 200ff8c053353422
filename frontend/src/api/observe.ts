import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, post, remove } from "./transport";
import type { Observation, ObserveRequest } from "./types";

const path = (server: string) => `/servers/${encodeURIComponent(server)}/observation`;
const pause = 1000;

/** useObservation is how a server is or was watched; what it does is asked for every second while it is. */
export function useObservation(server: string) {
  return useQuery({
    queryKey: ["observation", server],
    queryFn: () => get<Observation>(path(server)),
    refetchInterval: (query) => query.state.data?.state === "observing" && pause,
  });
}

export function useObserve(server: string) {
  return useDeed(server, (request: ObserveRequest) => post<Observation>(path(server), request));
}

export function useEndObservation(server: string) {
  return useDeed(server, () => post<Observation>(`${path(server)}/end`));
}

/** useChooseMounts takes suggested folders into the proposal, all that are wanted. */
export function useChooseMounts(server: string) {
  return useDeed(server, (mounts: string[]) => post<Observation>(`${path(server)}/mounts`, { mounts }));
}

/** useAcceptObservation has servers.yaml say what was proposed, as it was shown. */
export function useAcceptObservation(server: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (binding: string) => post<Observation>(`${path(server)}/accept`, { binding }),
    onSettled: () =>
      Promise.all(["observation", "servers", "network", "secrets"].map((key) => client.invalidateQueries({ queryKey: [key] }))),
  });
}

export function useForgetObservation(server: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => remove(path(server)),
    onSettled: () => client.invalidateQueries({ queryKey: ["observation", server] }),
  });
}

/** useDeed does something whose answer is how it stands from then on. */
function useDeed<A>(server: string, deed: (what: A) => Promise<Observation>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: deed,
    onSuccess: (now) => client.setQueryData(["observation", server], now),
    onError: () => client.invalidateQueries({ queryKey: ["observation", server] }),
  });
}
