import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { armAfter } from "@/lib/use-armed";
import { expectAccessible } from "@/test/axe";
import { fixtures, many, type FakeDaemon } from "@/test/daemon";
import { open } from "@/test/open";

let daemon: FakeDaemon;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  daemon = many().install();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
const sent = (path: string) => daemon.sent.filter((s) => s.method === "POST" && s.path === path).map((s) => s.body);

describe("rules", () => {
  it("stand in their order with where they are, and the file's error loudly before them", async () => {
    open("/policy");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("The policy file is wrong and not in force");
    expect(alert.textContent).toContain("policy.yaml:14");
    expect(alert.textContent).toContain("it is one of allow, ask, deny");
    const list = screen.getByRole("list", { name: /^Rules in force/ });
    expect(within(list).getAllByRole("listitem")[0]!.textContent).toContain("1denyno pushing");
    expect(list.textContent).toContain("It names no classes");
    expect(screen.getByText("Everything else asks.")).toBeTruthy();
  });

  it("say that reads ask too when nothing was in force before", async () => {
    daemon.on("GET /policy", { ...fixtures.policy, state: "fallback", rules: [] });
    open("/policy");
    expect((await screen.findByRole("alert")).textContent).toContain("everything asks, reads too");
  });

  it("of a project wait; all they change is shown, and what allows counts only if it is ticked", async () => {
    daemon.on("POST /policy/project", fixtures.policy.projects[0]);
    open("/policy");
    fireEvent.click(await screen.findByRole("button", { name: "See what it changes" }));
    const dialog = screen.getByRole("dialog");
    expect(within(dialog).getByRole("list", { name: "Makes stricter" }).textContent).toContain("migrations");
    expect(within(dialog).getByRole("list", { name: /^Allows/ }).textContent).toContain("Allow every call");
    const accept = within(dialog).getByRole("button", { name: "Accept" }) as HTMLButtonElement;
    expect(accept.disabled).toBe(true);
    expect(document.activeElement).toBe(within(dialog).getByRole("button", { name: "Leave it" }));
    await expectAccessible();
    await pass(armAfter + 50);
    fireEvent.click(within(dialog).getByRole("checkbox"));
    expect(accept.disabled).toBe(true);
    await pass(armAfter + 50);
    fireEvent.click(accept);
    const { dir, digest } = fixtures.policy.projects[0]!;
    await waitFor(() => expect(sent("/policy/project")).toEqual([{ dir, digest, allows: true }]));
  });

  it("of a project are taken back by what was accepted", async () => {
    daemon.on("POST /policy/project", fixtures.policy.projects[0]);
    open("/policy");
    fireEvent.click(await screen.findByRole("button", { name: "Take it back" }));
    await pass(armAfter + 50);
    fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Take it back" }));
    const { dir, accepted } = fixtures.policy.projects[0]!;
    await waitFor(() => expect(sent("/policy/project")).toEqual([{ dir, digest: accepted, remove: true }]));
  });
});

describe("explaining a call", () => {
  it("asks by the form, keeps it in the address, and tells what decides and what came near", async () => {
    open("/policy?tab=explain");
    fireEvent.change(await screen.findByRole("combobox", { name: "Server" }), { target: { value: "files" } });
    fireEvent.change(screen.getByLabelText("Tool"), { target: { value: "write_file" } });
    const args = screen.getByLabelText("Arguments, as a JSON object");
    fireEvent.change(args, { target: { value: "[1]" } });
    expect(screen.getByText("That is no JSON object.")).toBeTruthy();
    fireEvent.change(args, { target: { value: '{"path":"/tmp/x"}' } });
    fireEvent.click(screen.getByRole("button", { name: "Explain" }));
    const answer = await screen.findByRole("region", { name: "What would be decided" });
    expect(answer.textContent).toContain("default rule 2 (everything else asks)");
    expect(answer.textContent).toContain("whether inside(args.path");
    expect(sent("/policy/explain")).toEqual([{ server: "files", tool: "write_file", arguments: { path: "/tmp/x" } }]);
    expect(location.search).toContain("tool=write_file");
    await expectAccessible();
  });
});

describe("trying a policy on past calls", () => {
  it("counts what would differ and lists the calls, each with both reasons", async () => {
    open("/policy?tab=replay&since=30");
    fireEvent.change(await screen.findByLabelText("Policy to try"), { target: { value: "version: 1\nrules: []\n" } });
    fireEvent.click(screen.getByRole("button", { name: "Try it" }));
    const result = await screen.findByRole("region", { name: "What would differ" });
    expect(result.textContent).toContain("209 of 214 calls would be decided as they were.");
    expect(within(result).getByRole("list", { name: "Calls that would differ" }).children).toHaveLength(2);
    expect(result.textContent).toContain("default rule 2 (everything else asks) (you approved) → rule “write in the shop”");
    expect(sent("/policy/replay")[0]).toMatchObject({ text: "version: 1\nrules: []\n", file: "policy.yaml" });
    await expectAccessible();
  });
});
