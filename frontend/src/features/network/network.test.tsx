import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { armAfter } from "@/lib/use-armed";
import { expectAccessible } from "@/test/axe";
import { fixtures, many, Refusal, unreached, type FakeDaemon } from "@/test/daemon";
import { open } from "@/test/open";

let daemon: FakeDaemon;
const git = fixtures.networks.find((n) => n.server === "git")!;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  daemon = many().install();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
const changes = () => daemon.sent.filter((s) => s.method === "POST" && s.path === "/servers/git/network").map((s) => s.body);

describe("what a server reaches", () => {
  it("is listed with how each host stands, in words", async () => {
    open("/network?server=git");
    const reaches = await screen.findByRole("list", { name: "What git may reach" });
    expect(within(reaches).getAllByRole("listitem")).toHaveLength(4);
    expect(reaches.textContent).toContain("api.github.com:443allowed1 open now");
    expect(reaches.textContent).toContain("objects.githubusercontent.com:443for a while");
    const tried = screen.getByRole("list", { name: "What git tried" });
    expect(tried.textContent).toContain("collector.telemetry.example:443blockedtried 14 times");
    expect(screen.getByText("Anything not listed asks you.")).toBeTruthy();
    expect(screen.getByRole("img", { name: "4 allowed, 2 open now, 5 blocked" })).toBeTruthy();
    expect(screen.getByRole("table", { name: "2 connections open now" }).textContent).toContain(
      "140.82.121.6claude-code821 B10 KiB",
    );
    await expectAccessible();
  });

  it("says any public host and this machine's ports in words", async () => {
    open("/network");
    expect((await screen.findByRole("list", { name: "What fetch may reach" })).textContent).toContain("any public host");
    const sqlite = screen.getByRole("list", { name: "What sqlite may reach" });
    expect(sqlite.textContent).toContain("port 5432 of this machine");
    expect(within(sqlite).getAllByRole("button", { name: /^Take back/ })).toHaveLength(2);
  });

  it("shows who waits in the place of a refusal", async () => {
    const waiting = {
      ...fixtures.toolChange,
      kind: "network",
      tool: undefined,
      title: "git wants to reach collector.telemetry.example",
      network: { hosts: ["collector.telemetry.example:443"], after: false },
      call: { ...fixtures.toolChange.call, server: "git" },
    };
    daemon.on("GET /approvals", [waiting]);
    open("/network?server=git");
    const waits = await screen.findByRole("list", { name: "What git waits for" });
    expect(waits.textContent).toContain("waits for you");
    expect(screen.getByRole("list", { name: "What git tried" }).textContent).not.toContain("collector");
    fireEvent.click(within(waits).getByRole("link"));
    await waitFor(() => expect(location.search).toContain(`review=${waiting.id}`));
  });

  it("follows the daemon's events", async () => {
    open("/network?server=git");
    await screen.findByRole("list", { name: "What git tried" });
    daemon.on("GET /servers/git/network", { ...git, allow: ["example.org:443"], tried: [] });
    act(() => daemon.event({ seq: 9100, kind: "network", id: "git" }));
    expect(await screen.findByText("example.org:443")).toBeTruthy();
    expect(screen.queryByRole("list", { name: "What git tried" })).toBeNull();
  });
});

describe("a blocked host", () => {
  it("is allowed by one click that shows the rule and asks once", async () => {
    const rule = "collector.telemetry.example:443";
    daemon.on("POST /servers/git/network", { ...git, allow: [...git.allow, rule], tried: git.tried.slice(1) });
    open("/network?server=git");
    fireEvent.click(await screen.findByRole("button", { name: `Allow: ${rule}` }));
    const dialog = screen.getByRole("dialog", { name: "Let git reach this host?" });
    expect(document.activeElement).toBe(within(dialog).getByRole("button", { name: "Keep blocked" }));
    expect(within(dialog).getByRole("figure").textContent).toContain(rule);
    expect(dialog.textContent).toContain("Only collector.telemetry.example, at port 443.");
    const allow = within(dialog).getByRole("button", { name: "Allow" }) as HTMLButtonElement;
    expect(allow.disabled).toBe(true);
    await expectAccessible();
    await pass(armAfter + 50);
    fireEvent.click(allow);
    await waitFor(() => expect(changes()).toEqual([{ host: rule, allow: true }]));
    expect(await screen.findByText(`${rule} is allowed from now on.`)).toBeTruthy();
    expect(screen.getByRole("list", { name: "What git may reach" }).textContent).toContain(rule);
  });

  it("is kept blocked by the daemon, folded away, and asked about again when that is wanted", async () => {
    const denied = git.tried.map((one) => (one.port === 22 && one.kind === "port" ? { ...one, kind: "denied" } : one));
    daemon.on("POST /servers/git/network", { ...git, deny: ["github.com:22"], tried: denied });
    open("/network?server=git");
    fireEvent.click(await screen.findByRole("button", { name: "Keep blocked: github.com:22" }));
    await waitFor(() => expect(changes()).toEqual([{ host: "github.com:22", allow: false }]));
    expect(await screen.findByText("github.com:22 stays blocked.")).toBeTruthy();
    expect(screen.getByRole("list", { name: "What git tried" }).textContent).not.toContain("github.com:22");
    fireEvent.click(screen.getByRole("button", { name: "Show 1 you keep blocked" }));
    expect(screen.getByRole("list", { name: "What you keep blocked for git" }).textContent).toContain(
      "github.com:22kept blockedtried once",
    );
    await expectAccessible();
    daemon.on("POST /servers/git/network", git);
    fireEvent.click(screen.getByRole("button", { name: "Ask again: github.com:22" }));
    await waitFor(() => expect(changes()[1]).toEqual({ host: "github.com:22", allow: false, forget: true }));
    expect(await screen.findByText("github.com:22 is asked about again.")).toBeTruthy();
  });

  it("is allowed with all others once they were reviewed, but for those left out", async () => {
    daemon.on("POST /servers/git/network", git);
    open("/network?server=git");
    fireEvent.click(await screen.findByRole("button", { name: "Allow all 2 it tried…" }));
    const dialog = screen.getByRole("dialog", { name: "Let git reach these hosts?" });
    expect(document.activeElement).toBe(within(dialog).getByRole("button", { name: "Leave them blocked" }));
    fireEvent.click(within(dialog).getByRole("checkbox", { name: /github\.com:22/ }));
    await expectAccessible();
    await pass(armAfter + 50);
    fireEvent.click(within(dialog).getByRole("button", { name: "Allow 1" }));
    await waitFor(() => expect(changes()).toEqual([{ host: "collector.telemetry.example:443", allow: true }]));
    expect(await screen.findByText("1 host is allowed from now on.")).toBeTruthy();
  });

  it("that names itself by another key is warned of, and cannot be allowed here", async () => {
    open("/network?server=git");
    const warning = await screen.findByRole("alert");
    expect(warning.textContent).toContain("The key of git.acme.example:22 has changed");
    expect(screen.getByRole("img", { name: "SHA256:p2QAMXNIC1TJYWeIOttrVc98/R1BUFWu3/LiyKgUfQM" }).textContent).toContain(
      "p2QAMXNI",
    );
    expect(screen.queryByRole("button", { name: /^Allow: git\.acme/ })).toBeNull();
    await expectAccessible();
  });

  it("cannot be allowed here where only servers.yaml can", async () => {
    open("/network?server=git");
    await screen.findByRole("list", { name: "What git tried" });
    expect(screen.queryByRole("button", { name: /^Allow: .*buildhost/ })).toBeNull();
  });

  it("is shown as material, whatever its name holds", async () => {
    const host = "api.github.com\u202e<b>x</b>\u200b";
    const tried = [{ ...git.tried[0]!, host, why: `${host} is not in this server's list of hosts.`, propose: undefined }];
    daemon.on("GET /servers/git/network", { ...unreached("git"), tried });
    open("/network?server=git");
    const list = await screen.findByRole("list", { name: "What git tried" });
    expect(list.textContent).toContain("api.github.com⟨U+202E⟩<b>x</b>⟨U+200B⟩:443");
    expect(list.innerHTML).not.toContain("\u202e");
    expect(list.querySelector("b")).toBeNull();
    await expectAccessible();
  });

  it("shows both ends of a long name", async () => {
    const host = `${"a".repeat(60)}.${"b".repeat(60)}.evil.example`;
    daemon.on("GET /servers/git/network", { ...unreached("git"), tried: [{ ...git.tried[0]!, host, propose: `${host}:443` }] });
    open("/network?server=git");
    expect((await screen.findByRole("list", { name: "What git tried" })).textContent).toMatch(/aaaa…b+\.evil\.example:443/);
    fireEvent.click(screen.getByRole("button", { name: /^Allow: aaa/ }));
    expect(screen.getByRole("dialog").textContent).toContain(`${host}:443`);
  });
});

describe("what is allowed", () => {
  it("is taken back at once", async () => {
    daemon.on("POST /servers/git/network", { ...git, allow: ["api.github.com:443"] });
    open("/network?server=git");
    fireEvent.click(await screen.findByRole("button", { name: "Take back: github.com:443" }));
    await waitFor(() => expect(changes()).toEqual([{ host: "github.com:443", allow: false }]));
    expect(await screen.findByText("github.com:443 is taken back. What was open to it has ended.")).toBeTruthy();
  });

  it("by a permission is taken back as one", async () => {
    daemon.on(`DELETE /grants/${git.granted[0]!.grant}`, null);
    open("/network?server=git");
    fireEvent.click(await screen.findByRole("button", { name: /^Take back: objects/ }));
    await waitFor(() => expect(daemon.sent.some((s) => s.method === "DELETE")).toBe(true));
  });

  it("is added as it is typed, said in words before, with the daemon's reason where it is no rule", async () => {
    daemon.on(
      "POST /servers/git/network",
      new Refusal(422, { ...fixtures.problem, title: '"*.com": anybody can have a name below com' }),
    );
    open("/network?server=git");
    fireEvent.click(await screen.findByRole("button", { name: "Allow a host: git" }));
    const form = screen.getByRole("form", { name: "Allow git a host" });
    const input = within(form).getByLabelText("Host, or host:port");
    fireEvent.change(input, { target: { value: "*.com" } });
    expect(form.textContent).toContain("Everything below com at any depth, at port 443. Not com itself.");
    fireEvent.submit(form);
    expect((await within(form).findByRole("alert")).textContent).toContain("anybody can have a name below com");
    expect(input.getAttribute("aria-invalid")).toBe("true");
    await expectAccessible();
    daemon.on("POST /servers/git/network", { ...git, allow: [...git.allow, "db.example.com:5432"] });
    fireEvent.change(input, { target: { value: "db.example.com:5432" } });
    fireEvent.submit(form);
    expect(await screen.findByText("db.example.com:5432")).toBeTruthy();
    expect(changes()).toEqual([
      { host: "*.com", allow: true },
      { host: "db.example.com:5432", allow: true },
    ]);
  });
});

it("says how fast bytes pass between two looks", async () => {
  open("/network?server=git");
  await screen.findByRole("table", { name: "2 connections open now" });
  const [first, ...rest] = git.live;
  daemon.on("GET /servers/git/network", { ...git, live: [{ ...first!, received: first!.received + 3_000_000 }, ...rest] });
  await pass(3100);
  await waitFor(() => expect(screen.getByRole("table", { name: /open now/ }).textContent).toMatch(/[KM]iB\/s/));
});
