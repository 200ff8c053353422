import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, post } from "./transport";
import type { PinAnswer, Pins } from "./types";

const path = (server: string) => `/servers/${encodeURIComponent(server)}/pins`;

/** usePins is what a server shows of itself, and how that stands. */
export function usePins(server: string) {
  return useQuery({ queryKey: ["pins", server], queryFn: () => get<Pins>(path(server)) });
}

/** useAnswerPins accepts or refuses items that wait, as they were shown. */
export function useAnswerPins(server: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (answer: PinAnswer) => post<Pins>(path(server), answer),
    onSuccess: (now) => client.setQueryData(["pins", server], now),
    onError: () => client.invalidateQueries({ queryKey: ["pins", server] }),
    onSettled: () => Promise.all(["servers", "approvals", "status"].map((key) => client.invalidateQueries({ queryKey: [key] }))),
  });
}
