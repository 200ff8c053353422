import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { slice } from "@/lib/raw-json";
import { get, getText, post } from "./transport";
import type { Answer, Approval } from "./types";

export function useApprovals() {
  return useQuery({ queryKey: ["approvals"], queryFn: async () => (await get<Approval[] | null>("/approvals")) ?? [] });
}

/** WholeApproval is a question with the raw text of the arguments it is about. */
export interface WholeApproval {
  approval: Approval;
  raw: string | undefined;
}

export function useApproval(id: string | undefined) {
  return useQuery({
    queryKey: ["approval", id],
    enabled: id !== undefined,
    queryFn: async (): Promise<WholeApproval> => {
      const { text, value } = await getText<Approval>(`/approvals/${encodeURIComponent(id ?? "")}`);
      return { approval: value, raw: slice(text, ["call", "arguments"]) };
    },
  });
}

/** useAnswer sends a person's answer with the binding of what was shown. */
export function useAnswer() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ approval, approve }: { approval: Approval; approve: boolean }) => {
      const answer: Answer = { approve, binding: approval.binding };
      return post<Approval>(`/approvals/${encodeURIComponent(approval.id)}`, answer);
    },
    onSettled: (_, __, { approval }) =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["approvals"] }),
        client.invalidateQueries({ queryKey: ["approval", approval.id] }),
        client.invalidateQueries({ queryKey: ["calls"] }),
        client.invalidateQueries({ queryKey: ["status"] }),
      ]),
  });
}
