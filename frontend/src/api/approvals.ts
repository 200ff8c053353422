import { useMutation, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { slice } from "@/lib/raw-json";
import { get, getText, post } from "./transport";
import type { Answer, Approval, ApprovalGroup, GroupAnswer, Offer, Permit, Seen, SeenApprovals } from "./types";

export function useApprovals() {
  return useQuery({ queryKey: ["approvals"], queryFn: async () => (await get<Approval[] | null>("/approvals")) ?? [] });
}

/** WholeApproval is a question with the raw text of the arguments it is about. */
export interface WholeApproval {
  approval: Approval;
  raw: string | undefined;
  /** And of its answers to what the server asked in the middle of the call. */
  input: string | undefined;
}

export function useApproval(id: string | undefined) {
  return useQuery({
    queryKey: ["approval", id],
    enabled: id !== undefined,
    queryFn: async (): Promise<WholeApproval> => {
      const { text, value } = await getText<Approval>(`/approvals/${encodeURIComponent(id ?? "")}`);
      return { approval: value, raw: slice(text, ["call", "arguments"]), input: slice(text, ["call", "input"]) };
    },
  });
}

/** useGroups are the questions that wait and can be answered together. */
export function useGroups() {
  return useQuery({ queryKey: ["groups"], queryFn: async () => (await get<ApprovalGroup[] | null>("/approval-groups")) ?? [] });
}

/** usePreview asks what a yes that reaches as far as permit would cover; permit undefined asks nothing. */
export function usePreview(id: string | undefined, permit: Permit | undefined) {
  return useQuery({
    queryKey: ["preview", id, permit],
    enabled: id !== undefined && permit !== undefined,
    retry: false,
    queryFn: () => post<Offer>(`/approvals/${encodeURIComponent(id ?? "")}/preview`, permit),
  });
}

/** useAnswer sends a person's answer with the binding of what was shown, and how far a yes reaches. */
export function useAnswer() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ approval, approve, permit }: { approval: Approval; approve: boolean; permit?: Permit | undefined }) => {
      const answer: Answer = { ...reach(approve, permit), approve, binding: approval.binding };
      return post<Approval>(`/approvals/${encodeURIComponent(approval.id)}`, answer);
    },
    onSettled: () => renew(client),
  });
}

/** useAnswerGroup answers several questions at once, each as it was seen. */
export function useAnswerGroup() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ members, approve, permit }: { members: Seen[]; approve: boolean; permit?: Permit | undefined }) => {
      const answer: GroupAnswer = {
        ...reach(approve, permit),
        approve,
        members: members.map(({ id, binding }) => ({ id, binding })),
      };
      return post<Approval[]>("/approval-answers", answer);
    },
    onSettled: () => renew(client),
  });
}

/** reach leaves out what is no more than once. */
function reach(approve: boolean, permit: Permit | undefined): Permit {
  return approve && permit?.scope && permit.scope !== "once" ? permit : {};
}

/** useExpired are the questions that nobody answered and nobody has seen since. */
export function useExpired() {
  return useQuery({ queryKey: ["expired"], queryFn: async () => (await get<Approval[] | null>("/expired-approvals")) ?? [] });
}

export function useSeeExpired() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (ids: string[]) => post<void>("/expired-approvals", { ids } satisfies SeenApprovals),
    onSettled: () => client.invalidateQueries({ queryKey: ["expired"] }),
  });
}

function renew(client: QueryClient) {
  const keys = ["approvals", "approval", "groups", "grants", "calls", "status"];
  return Promise.all(keys.map((key) => client.invalidateQueries({ queryKey: [key] })));
}
