import { QueryClient } from "@tanstack/react-query";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { expectAccessible } from "@/test/axe";
import { fixtures, many, Refusal, type FakeDaemon } from "@/test/daemon";
import { open } from "@/test/open";

let daemon: FakeDaemon;

beforeEach(() => {
  daemon = many().install();
});

afterEach(() => vi.unstubAllGlobals());

const value = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const sent = (method: string, path: string) =>
  daemon.sent.filter((s) => s.method === method && s.path === path).map((s) => s.body);
const keeper = (state: string, by: string, why = "", next = "") => ({ state, by, why, next });
const withKeeper = (k: object) => daemon.on("GET /secrets", { ...fixtures.secrets, keeper: k });
const cell = (row: HTMLElement, column: string) => {
  const heads = screen.getAllByRole("columnheader").map((h) => h.textContent);
  return [...row.children][heads.indexOf(column)] as HTMLElement;
};

describe("the matrix", () => {
  it("has a row a secret and a column a server, what is missing first, and says how each is used", async () => {
    open("/secrets");
    const rows = (await screen.findAllByRole("rowheader")).map((h) => h.textContent);
    expect(rows).toEqual(["search-keymissingSet", "mapbox-keyexpiredSet", "github-tokenversion 3", "orders-dbfrom a command"]);
    const token = screen.getByRole("row", { name: /github-token/ });
    expect(cell(token, "git").textContent).toContain("put in on the wayapi.github.comuploads.github.comany of its tools");
    expect(cell(token, "reports").textContent).toContain("only get_*, list_reports · asks each timeuntil");
    expect(cell(token, "sqlite").textContent).toBe("–not granted");
    expect(cell(screen.getByRole("row", { name: /orders-db/ }), "sqlite").textContent).toContain(
      "held by the server, weakerDATABASE_URL",
    );
    expect(cell(token, "Last use").textContent).toContain("git to api.github.com");
    expect(within(token).getByRole("link", { name: "the call" }).getAttribute("href")).toContain("/calls?call=c78d66c1f79db92be");
    await expectAccessible();
  });

  it("renews itself as secrets change", async () => {
    open("/secrets");
    await screen.findAllByRole("rowheader");
    daemon.on("GET /secrets", { ...fixtures.secrets, secrets: fixtures.secrets.secrets.slice(0, 1) });
    daemon.event({ seq: 9100, kind: "secret", id: "orders-db" });
    await waitFor(() => expect(screen.getAllByRole("rowheader")).toHaveLength(1));
  });
});

describe("a value", () => {
  it("is sent, and stands nowhere after", async () => {
    const clients: QueryClient[] = [];
    const mount = QueryClient.prototype.mount;
    vi.spyOn(QueryClient.prototype, "mount").mockImplementation(function (this: QueryClient) {
      clients.push(this);
      mount.call(this);
    });
    daemon.on("POST /secrets", () => fixtures.secrets.secrets[0]);
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Set: search-key" }));
    const dialog = screen.getByRole("dialog", { name: "Set search-key" });
    const input = within(dialog).getByLabelText("Value") as HTMLInputElement;
    expect([input.type, input.autocomplete]).toEqual(["password", "off"]);
    expect(document.activeElement).toBe(input);
    await expectAccessible();
    fireEvent.change(input, { target: { value } });
    fireEvent.submit(input.form!);
    expect(input.value).toBe("");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(sent("POST", "/secrets")).toEqual([{ name: "search-key", value }]);
    expect(screen.getByText("search-key is stored. What ran with an older value is stale.")).toBeTruthy();
    const held = clients.flatMap((c) => [
      c
        .getQueryCache()
        .getAll()
        .map((q) => q.state),
      c
        .getMutationCache()
        .getAll()
        .map((m) => m.state),
    ]);
    for (const place of [
      document.documentElement.outerHTML,
      location.href,
      JSON.stringify(held),
      JSON.stringify({ ...localStorage }),
      JSON.stringify({ ...sessionStorage }),
      JSON.stringify(history.state),
    ]) {
      expect(place).not.toContain(value);
    }
  });

  it("is let go of when it was refused, and the reason stands there", async () => {
    daemon.on(
      "POST /secrets",
      new Refusal(412, { ...fixtures.problem, title: "Secrets are out of reach", next: "garita secret unlock" }),
    );
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Set: search-key" }));
    const input = screen.getByLabelText("Value") as HTMLInputElement;
    fireEvent.change(input, { target: { value } });
    fireEvent.submit(input.form!);
    expect((await screen.findByRole("alert")).textContent).toContain("Secrets are out of reach");
    expect(screen.getByText("What was typed was let go. Paste it again.")).toBeTruthy();
    expect((screen.getByLabelText("Value") as HTMLInputElement).value).toBe("");
  });

  it("keeps its line ends when it is pasted", async () => {
    daemon.on("POST /secrets", fixtures.secrets.secrets[0]);
    const key = "-----BEGIN KEY-----\nabc\n-----END KEY-----\n";
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Set a secret" }));
    fireEvent.change(screen.getByLabelText("Name"), { target: { value: "deploy-key" } });
    fireEvent.paste(screen.getByLabelText("Value"), { clipboardData: { getData: () => key } });
    await waitFor(() => expect(screen.getByLabelText("Value").tagName).toBe("TEXTAREA"));
    fireEvent.submit((screen.getByLabelText("Value") as HTMLTextAreaElement).form!);
    await waitFor(() => expect(sent("POST", "/secrets")).toEqual([{ name: "deploy-key", value: key }]));
  });

  it("wants a name that can be one", async () => {
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Set a secret" }));
    fireEvent.change(screen.getByLabelText("Name"), { target: { value: "My Token" } });
    fireEvent.change(screen.getByLabelText("Value"), { target: { value } });
    expect(screen.getByRole("alert").textContent).toContain("Lower-case letters");
    expect((screen.getByRole("button", { name: "Set" }) as HTMLButtonElement).disabled).toBe(true);
  });
});

describe("a grant", () => {
  it("is revoked at once, by a question that names both", async () => {
    daemon.on("DELETE /secrets/github-token/grants/git", fixtures.secrets.secrets[0]);
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Revoke: github-token, git" }));
    const dialog = screen.getByRole("dialog", { name: "Revoke github-token from git?" });
    expect(document.activeElement).toBe(within(dialog).getByRole("button", { name: "Keep" }));
    await expectAccessible();
    fireEvent.click(within(dialog).getByRole("button", { name: "Revoke github-token from git" }));
    await waitFor(() => expect(sent("DELETE", "/secrets/github-token/grants/git")).toHaveLength(1));
    expect(await screen.findByText("github-token is revoked from git.")).toBeTruthy();
  });

  it("that hands the value over says what revoking cannot do", async () => {
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Revoke: orders-db, sqlite" }));
    expect(screen.getByRole("dialog").textContent).toContain("change it at the provider, too");
  });

  it("is written in a form that says it as a sentence", async () => {
    daemon.on("POST /secrets/github-token/grants", fixtures.secrets.secrets[0]);
    open("/secrets?secret=github-token");
    fireEvent.click(await screen.findByRole("button", { name: "Grant to a server" }));
    const dialog = screen.getByRole("dialog", { name: "Grant github-token to a server" });
    const act = within(dialog).getByRole("button", { name: "Grant" }) as HTMLButtonElement;
    expect(act.disabled).toBe(true);
    await within(dialog).findByRole("option", { name: "memory" });
    fireEvent.change(within(dialog).getByLabelText("Server"), { target: { value: "memory" } });
    fireEvent.change(within(dialog).getByLabelText("Sent to these hosts only"), {
      target: { value: "api.github.com\ngit.example:8443" },
    });
    fireEvent.change(within(dialog).getByLabelText("Only while these tools are called"), {
      target: { value: "read_graph search_*" },
    });
    fireEvent.click(within(dialog).getByRole("checkbox", { name: "Ask me before each use" }));
    expect(within(dialog).getByRole("status").textContent).toBe(
      "What that means: memory gets a stand-in in GITHUB_TOKEN; the value goes to api.github.com, git.example:8443 alone, in the header Authorization, only while read_graph, search_* is called, and you are asked each time.",
    );
    await expectAccessible();
    fireEvent.submit(act.form!);
    await waitFor(() => expect(sent("POST", "/secrets/github-token/grants")).toHaveLength(1));
    expect(sent("POST", "/secrets/github-token/grants")[0]).toEqual({
      server: "memory",
      mode: "placeholder",
      env: "GITHUB_TOKEN",
      places: [{ in: "header", name: "Authorization" }],
      hosts: ["api.github.com", "git.example:8443"],
      tools: ["read_graph", "search_*"],
      ask: true,
    });
  });

  it("of a value itself has no bounds but its end, and says that it is weaker", async () => {
    daemon.on("POST /secrets/github-token/grants", fixtures.secrets.secrets[0]);
    open("/secrets?secret=github-token");
    fireEvent.click(await screen.findByRole("button", { name: "Change: github-token, git" }));
    const dialog = screen.getByRole("dialog", { name: "How git may use github-token" });
    fireEvent.click(within(dialog).getByRole("radio", { name: /Handed over in a file.*weaker/ }));
    expect(within(dialog).queryByLabelText("Sent to these hosts only")).toBeNull();
    expect(dialog.textContent).toContain(
      "git holds the value itself, in /run/secrets/github-token, and can send it wherever it may reach.",
    );
    fireEvent.click(within(dialog).getByRole("button", { name: "Save" }));
    await waitFor(() => expect(sent("POST", "/secrets/github-token/grants")).toHaveLength(1));
    expect(sent("POST", "/secrets/github-token/grants")[0]).toEqual({
      server: "git",
      mode: "file",
      file: "/run/secrets/github-token",
      places: [],
      hosts: [],
      tools: [],
      ask: false,
    });
  });
});

describe("after a suspicion", () => {
  it("the uses since are listed, it is taken from everybody, and the new value is wanted", async () => {
    daemon.on("POST /secrets/github-token/rotate", {
      uses: fixtures.secretUses.slice(0, 2),
      revoked: ["git", "reports"],
      ended: 1,
    });
    open("/secrets?secret=github-token");
    fireEvent.click(await screen.findByRole("button", { name: "Rotate" }));
    const dialog = screen.getByRole("dialog", { name: "Take github-token from everybody?" });
    await waitFor(() => expect(within(within(dialog).getByRole("list")).getAllByRole("listitem")).toHaveLength(3));
    await expectAccessible();
    fireEvent.click(within(dialog).getByRole("button", { name: "Revoke github-token everywhere" }));
    expect(await within(dialog).findByText(/Revoked from: git, reports. 1 sandbox that held it has ended/)).toBeTruthy();
    fireEvent.click(within(dialog).getByRole("button", { name: "Set the new value" }));
    expect(await screen.findByRole("dialog", { name: "Set a new value of github-token" })).toBeTruthy();
  });
});

describe("removing", () => {
  it("names who loses it", async () => {
    daemon.on("DELETE /secrets/github-token", null);
    open("/secrets?secret=github-token");
    fireEvent.click(await screen.findByRole("button", { name: "Remove" }));
    const dialog = screen.getByRole("dialog", { name: "Remove github-token?" });
    expect(dialog.textContent).toContain("revoked at once from: git, reports.");
    fireEvent.click(within(dialog).getByRole("button", { name: "Remove github-token" }));
    await waitFor(() => expect(sent("DELETE", "/secrets/github-token")).toHaveLength(1));
  });
});

describe("what keeps the key", () => {
  it("is a file that a passphrase encrypts, typed twice, where there is no keyring", async () => {
    withKeeper(keeper("none", "", "No keyring: choose encrypted file store.", "garita secret unlock --create"));
    daemon.on("POST /secrets/keeper", keeper("ready", "file"));
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Use an encrypted file" }));
    const [first, second] = [
      screen.getByLabelText("Passphrase"),
      screen.getByLabelText("The same passphrase once more"),
    ] as HTMLInputElement[];
    const type = (a: string, b: string) => {
      fireEvent.change(first!, { target: { value: a } });
      fireEvent.change(second!, { target: { value: b } });
      fireEvent.submit(first!.form!);
    };
    type("correct horse", "correct house");
    expect(screen.getByRole("alert").textContent).toContain("not the same");
    expect([first!.value, second!.value]).toEqual(["", ""]);
    type("short", "short");
    expect(screen.getByRole("alert").textContent).toContain("fewer than 8");
    expect(sent("POST", "/secrets/keeper")).toEqual([]);
    await expectAccessible();
    type("correct horse", "correct horse");
    await waitFor(() => expect(sent("POST", "/secrets/keeper")).toEqual([{ passphrase: "correct horse", create: true }]));
  });

  it("is unlocked by its passphrase, and a wrong one says so", async () => {
    withKeeper(keeper("locked", "file", "Its passphrase has not been given since the daemon started."));
    daemon.on("POST /secrets/keeper", new Refusal(403, { ...fixtures.problem, title: "The passphrase is wrong", detail: "" }));
    open("/secrets");
    const input = (await screen.findByLabelText("Passphrase")) as HTMLInputElement;
    fireEvent.change(input, { target: { value: "wrong horse" } });
    fireEvent.submit(input.form!);
    expect((await screen.findByRole("alert")).textContent).toContain("The passphrase is wrong");
    expect(document.documentElement.outerHTML).not.toContain("wrong horse");
  });

  it("waits for the keyring until that is canceled", async () => {
    withKeeper(keeper("waiting", "keyring", "Keyring locked - waiting for you to unlock it."));
    daemon.on("POST /secrets/keeper", keeper("locked", "keyring", "The keyring is locked."));
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Stop waiting" }));
    await waitFor(() => expect(sent("POST", "/secrets/keeper")).toEqual([{ cancel: true }]));
    await expectAccessible();
  });

  it("asks the person when a locked keyring is to be unlocked", async () => {
    withKeeper(keeper("locked", "keyring", "The keyring is locked.", "garita secret unlock has it ask you."));
    daemon.on("POST /secrets/keeper", keeper("waiting", "keyring"));
    open("/secrets");
    fireEvent.click(await screen.findByRole("button", { name: "Unlock the keyring" }));
    await waitFor(() => expect(sent("POST", "/secrets/keeper")).toEqual([{}]));
  });
});
