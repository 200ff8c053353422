import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { armAfter } from "@/lib/use-armed";
import { expectAccessible } from "@/test/axe";
import { fixtures, many, type FakeDaemon } from "@/test/daemon";
import { open } from "@/test/open";

let daemon: FakeDaemon;
const [watched, ended] = fixtures.observations as [
  (typeof fixtures.observations)[0],
  Required<(typeof fixtures.observations)[1]>,
];

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  daemon = many().install();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
const path = "/servers/git/observation";
const sent = (to: string) => daemon.sent.filter((s) => s.method === "POST" && s.path === path + to).map((s) => s.body);
const rows = () => screen.getAllByRole("row").slice(1);

describe("a server that is watched", () => {
  it("is begun for as long as was chosen, with a folder that is whole", async () => {
    daemon.on(`POST ${path}`, { ...watched, seen: [] });
    open("/servers?server=git");
    fireEvent.click(await screen.findByRole("link", { name: "Watch it" }));
    fireEvent.click(await screen.findByRole("radio", { name: "1 hour" }));
    const folder = screen.getByLabelText("Folder for clients that name none");
    fireEvent.change(folder, { target: { value: "shop" } });
    expect((screen.getByRole("button", { name: "Begin to watch" }) as HTMLButtonElement).disabled).toBe(true);
    fireEvent.change(folder, { target: { value: "/home/ana/shop" } });
    fireEvent.click(screen.getByRole("button", { name: "Begin to watch" }));
    expect(await screen.findByText("It has done nothing yet")).toBeTruthy();
    expect(sent("")).toEqual([{ minutes: 60, workspace: ["/home/ana/shop"] }]);
    await expectAccessible();
  });

  it("shows each thing once, when and in which calls, the first first, and what comes later below", async () => {
    daemon.on(`GET ${path}`, { ...watched, seen: watched.seen.slice(0, 3) });
    open("/servers/observe?server=git");
    await screen.findByText("git is watched");
    expect(rows().map((r) => r.textContent)).toEqual([
      expect.stringContaining("github-mcp/dist/index.js"),
      expect.stringContaining("/etc/ssl/openssl.cnf"),
      expect.stringContaining("tool called: search_issues"),
    ]);
    daemon.on(`GET ${path}`, watched);
    await pass(1100);
    await waitFor(() => expect(rows()).toHaveLength(watched.seen.length));
    expect(rows()[0]!.textContent).toContain("github-mcp/dist/index.js");
    const refused = rows().find((r) => r.textContent!.includes("telemetry.example.com"))!;
    expect(refused.textContent).toContain("denied 4 times");
    expect(screen.getByText("12 things seen, each once")).toBeTruthy();
    await expectAccessible();
    fireEvent.click(screen.getByRole("button", { name: "hosts 2" }));
    expect(rows()).toHaveLength(2);
  });

  it("keeps a place for what waits for an answer", async () => {
    daemon.on(`GET ${path}`, watched);
    daemon.on("GET /approvals", []);
    open("/servers/observe?server=git");
    const waits = await screen.findByRole("region", { name: "Questions of this server" });
    expect(waits.textContent).toBe("No question of this server waits for you.");
    const asked = fixtures.approvals.find((a) => a.call.server === "git")!;
    daemon.on("GET /approvals", [asked]);
    act(() => daemon.event({ seq: 9100, kind: "approval", id: asked.id }));
    expect(await within(waits).findByText(asked.title)).toBeTruthy();
  });

  it("shows what it did as material", async () => {
    const what = "/tmp/a\u202e<b>x</b>\u001b[2J";
    daemon.on(`GET ${path}`, { ...watched, seen: [{ ...watched.seen[1]!, what }] });
    open("/servers/observe?server=git");
    const table = await screen.findByRole("table");
    expect(table.textContent).toContain("/tmp/a⟨U+202E⟩<b>x</b>⟨U+001B⟩[2J");
    expect(table.querySelector("b")).toBeNull();
  });

  it("ends with what is the least it needs", async () => {
    daemon.on(`GET ${path}`, watched);
    daemon.on(`POST ${path}/end`, ended);
    open("/servers/observe?server=git");
    fireEvent.click(await screen.findByRole("button", { name: "End and see the proposal" }));
    expect(await screen.findByText("The least git needed")).toBeTruthy();
  });
});

describe("a proposal", () => {
  it("is told line by line with why, and accepted as the change it is, once that was shown", async () => {
    daemon.on(`GET ${path}`, ended);
    daemon.on(`POST ${path}/accept`, ended);
    open("/servers/observe?server=git");
    const network = await screen.findByRole("list", { name: "Network" });
    expect(network.textContent).toContain("api.github.com:443is added · reached 3 times");
    expect(network.textContent).toContain("telemetry.example.com:443not proposed · you denied it");
    await expectAccessible();
    fireEvent.click(screen.getByRole("button", { name: "Give it just this" }));
    const dialog = screen.getByRole("dialog", { name: "Give git just this?" });
    expect(document.activeElement).toBe(within(dialog).getByRole("button", { name: "Look again" }));
    expect(within(dialog).getByRole("figure").textContent).toContain("workspace: read-only");
    const act = within(dialog).getByRole("button", { name: "Give it just this" }) as HTMLButtonElement;
    expect(act.disabled).toBe(true);
    await expectAccessible();
    await pass(armAfter + 50);
    fireEvent.click(act);
    await waitFor(() => expect(sent("/accept")).toEqual([{ binding: ended.proposal.binding }]));
  });

  it("has what is suggested only if it is picked", async () => {
    daemon.on(`GET ${path}`, ended);
    daemon.on(`POST ${path}/mounts`, ended);
    open("/servers/observe?server=git");
    const box = await screen.findByRole("checkbox", { name: "Take this: /home/ana/data/map.csv, read-only" });
    expect((box as HTMLInputElement).checked).toBe(false);
    fireEvent.click(box);
    await waitFor(() => expect(sent("/mounts")).toEqual([{ mounts: ["/home/ana/data/map.csv"] }]));
  });

  it("that changes nothing cannot be accepted, and is let go of", async () => {
    const same = { ...ended, proposal: { ...ended.proposal, binding: undefined, diff: undefined, lines: [] } };
    daemon.on(`GET ${path}`, same);
    daemon.on(`DELETE ${path}`, null);
    open("/servers/observe?server=git");
    expect(await screen.findByText("git has no more than it needed")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Give it just this" })).toBeNull();
    daemon.on(`GET ${path}`, { server: "git", state: "none", seq: 0, seen: [], notes: [] });
    fireEvent.click(screen.getByRole("button", { name: "Leave it as it is" }));
    expect(await screen.findByText("Watch what it does, then give it just that")).toBeTruthy();
  });
});
