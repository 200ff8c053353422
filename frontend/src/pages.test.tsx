import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { expectAccessible } from "@/test/axe";
import { broken, FakeDaemon, fixtures, many, none } from "@/test/daemon";
import { open } from "@/test/open";

afterEach(() => vi.unstubAllGlobals());

// Every page, with a text that shows it has its many, its one, and its nothing.
const pages = [
  { path: "/", many: "2 questions wait for you", empty: "Put your servers behind walls" },
  { path: "/calls", many: "src/auth/session.ts", empty: "No call yet" },
  { path: "/approvals", many: "claude-code wants to push 3 commits", empty: "Nothing waits for you" },
  { path: "/servers", many: "everything", empty: "No server is configured" },
  { path: "/servers?server=files", many: "@modelcontextprotocol/server-filesystem@2026.8.31", empty: "No server is configured" },
  { path: "/servers?server=files&tab=log", many: "request 118 handled in 4 ms", empty: "No server is configured" },
  { path: "/servers?server=files&tab=pins", many: "a new argument", empty: "No server is configured" },
  { path: "/servers?server=everything&tab=update", many: "Look for a newer version", empty: "No server is configured" },
  { path: "/approvals?tab=permissions", many: "files may change files of its workspace", empty: "You have permitted nothing" },
  { path: "/secrets", many: "put in on the way", empty: "No secret is kept" },
  { path: "/secrets?secret=github-token", many: "uploads.github.com:443 alone", empty: "No secret is kept" },
  { path: "/servers/observe", many: "Which server do you want to watch?", empty: "No server is configured" },
  { path: "/servers/observe?server=git", many: "Watch what it does", empty: "No server is configured" },
  { path: "/network", many: "collector.telemetry.example:443", empty: "No server is configured" },
  { path: "/network?server=git", many: "not in its list", empty: "No server is configured" },
  { path: "/policy", many: "Deny every call of the tools push*, merge_*", empty: "You have no rules of your own" },
  { path: "/policy?tab=explain&server=files&tool=write_file", many: "write in the shop", empty: "Explain" },
  { path: "/policy?tab=replay", many: "The policy file is wrong", empty: "Try it" },
  { path: "/workspaces", many: "Apply to your files", empty: "No workspace holds changes" },
  { path: "/record", many: "page.refused", empty: "The record is empty" },
  { path: "/doctor", many: "user namespaces", empty: "Nothing was checked" },
];

describe.each(pages)("$path", (page) => {
  it("shows many", async () => {
    many().install();
    open(page.path);
    expect((await screen.findAllByText(page.many, { exact: false })).length).toBeGreaterThan(0);
    await expectAccessible();
  });

  it("teaches the next step when there is nothing", async () => {
    none().install();
    open(page.path);
    expect((await screen.findAllByText(page.empty, { exact: false })).length).toBeTruthy();
    await expectAccessible();
  });

  it("says what failed, why and what to do", async () => {
    broken().install();
    open(page.path);
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("newuidmap: uid range not allowed");
    expect(alert.textContent).toContain("garita doctor");
    await expectAccessible();
  });

  it("shows its frame at once while it loads", async () => {
    vi.stubGlobal("fetch", () => new Promise(() => {}));
    vi.stubGlobal(
      "WebSocket",
      class {
        close() {}
      },
    );
    open(page.path);
    await screen.findByRole("heading", { level: 1 });
    expect(screen.getAllByRole("status", { name: "Loading" }).length).toBeGreaterThan(0);
    await expectAccessible();
  });
});

it("shows one", async () => {
  const daemon = many().install();
  daemon.on("GET /servers", fixtures.servers.slice(2, 3));
  daemon.on("GET /approvals", fixtures.approvals.slice(0, 1));
  open("/");
  expect(await screen.findByText("1 question waits for you")).toBeTruthy();
  await expectAccessible();
});

it("shows one call whole, with its findings and its arguments as they were kept", async () => {
  many().install();
  const withheld = fixtures.calls.calls.find((c) => c.outcome === "withheld")!;
  open(`/calls?call=${withheld.id}`);
  expect(await screen.findByText("A call allowed as a read changed a file: .cache/report.lock was added.")).toBeTruthy();
  expect(screen.getByText("It was called without arguments.")).toBeTruthy();
  await expectAccessible();
});

it("renders a table of ten thousand calls with few rows", async () => {
  const daemon = many().install();
  const model = fixtures.calls.calls[3]!;
  daemon.on("GET /calls", { calls: Array.from({ length: 10_000 }, (_, i) => ({ ...model, id: `c${i}` })), next: "" });
  open("/calls");
  await waitFor(() => expect(screen.getAllByRole("row").length).toBeGreaterThan(5));
  expect(screen.getAllByRole("row").length).toBeLessThan(60);
});

it("renews what an event makes old", async () => {
  const daemon = many().install();
  open("/approvals");
  await screen.findByText("claude-code wants to push 3 commits");
  daemon.on("GET /approvals", fixtures.approvals.slice(0, 1));
  daemon.event({ seq: 9100, kind: "approval", id: fixtures.approvals[1]!.id });
  await waitFor(() => expect(screen.queryByText("claude-code wants to push 3 commits")).toBeNull());
});

it("shows the door when the session is over", async () => {
  new FakeDaemon({}).install();
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("{}", { status: 401 })));
  open("/calls");
  expect(await screen.findByText("This browser is not let in yet")).toBeTruthy();
  expect(localStorage.getItem("garita.token")).toBeNull();
  await expectAccessible();
});

it("counts how often calls had to be asked about", async () => {
  many().install();
  open("/");
  const card = (await screen.findByRole("heading", { name: "How often you are asked" })).closest("section")!;
  expect(card.textContent).toContain("4.7 of a hundred calls asked you this week (61 of 1,284)");
  expect(card.textContent).toContain("claude-code");
});

it("shows what waits and nothing else in a small window", async () => {
  const daemon = many().install();
  daemon.on("GET /approval-groups", fixtures.groups);
  vi.stubGlobal("matchMedia", (query: string) => ({
    matches: query.includes("480px"),
    addEventListener: () => {},
    removeEventListener: () => {},
  }));
  open("/");
  expect(await screen.findByText("claude-code wants to push 3 commits")).toBeTruthy();
  expect(await screen.findByText("3 calls that may write in src/ of files by claude-code")).toBeTruthy();
  expect(screen.queryByRole("navigation")).toBeNull();
  expect(screen.queryByText("Answered lately")).toBeNull();
  await expectAccessible();

  await userEvent.click(screen.getByRole("button", { name: "Pages" }));
  await userEvent.click(within(screen.getByRole("navigation", { name: "Pages" })).getByRole("link", { name: "Doctor" }));
  expect(await screen.findByRole("heading", { level: 1, name: "Doctor" })).toBeTruthy();
  expect(screen.queryByRole("navigation")).toBeNull();
  await expectAccessible();
});

it("signs out: the session ends at the daemon, and nothing of it stays here", async () => {
  const daemon = many().install();
  daemon.on("DELETE /browser-sessions", null);
  open("/calls");
  await userEvent.click(await screen.findByRole("button", { name: "Sign out" }));
  expect(await screen.findByText("This browser is not let in yet")).toBeTruthy();
  expect(daemon.sent.filter((s) => s.method === "DELETE").map((s) => s.path)).toEqual(["/browser-sessions"]);
  expect(localStorage.getItem("garita.token")).toBeNull();
});
