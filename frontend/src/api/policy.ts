import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, post } from "./transport";
import type { AcceptPolicy, Explanation, ExplainRequest, Policy, ProjectPolicy, Replay, ReplayRequest } from "./types";

/** usePolicy is the person's rules in force, and what is wrong with the file. */
export function usePolicy() {
  return useQuery({ queryKey: ["policy"], queryFn: () => get<Policy>("/policy") });
}

/** useExplanation asks why a call is decided as it is; asked undefined asks nothing. */
export function useExplanation(asked: ExplainRequest | undefined) {
  return useQuery({
    queryKey: ["explain", asked],
    enabled: asked !== undefined,
    retry: false,
    queryFn: () => post<Explanation>("/policy/explain", asked),
  });
}

export function useReplay() {
  return useMutation({ mutationFn: (asked: ReplayRequest) => post<Replay>("/policy/replay", asked) });
}

export function useAcceptPolicy() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (answer: AcceptPolicy) => post<ProjectPolicy>("/policy/project", answer),
    onSettled: () => client.invalidateQueries({ queryKey: ["policy"] }),
  });
}
