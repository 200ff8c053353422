// Plays one act in a real browser and prints what was seen in it, as JSON. browser_test.go says
// which act, and judges.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(
  new URL("../../../frontend/package.json", import.meta.url),
);
const { chromium } = require("playwright-core");

const { act, link, routes } = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  chromiumSandbox: false,
});
const context = await browser.newContext({
  locale: "en",
  reducedMotion: "reduce",
});
context.setDefaultTimeout(60_000);
const page = await context.newPage();
try {
  console.log(
    JSON.stringify(
      await { approve, stranger, again, pages, reach, secrets }[act](),
    ),
  );
} finally {
  await browser.close();
}

/** approve opens the link, finds the waiting call, looks at the question, and clicks Approve once Tab has reached it. */
async function approve() {
  const said = listen();
  const once = new URL(link);
  await page.goto(new URL(`/calls${once.hash}`, once).href);
  const row = page.getByRole("row").filter({ hasText: "waits for you" });
  await row.click();
  await page.getByRole("link", { name: "Review this call" }).click();
  const deny = page.getByRole("button", { name: "Deny" });
  const approve = page.getByRole("button", { name: "Approve" });
  await deny.waitFor();
  const seen = {
    waiting: true,
    linkInAddress: page.url().includes("#"),
    armedAtOnce: await approve.isEnabled(),
    focus: await focused(),
  };
  await page.waitForFunction(() =>
    [...document.querySelectorAll("dialog button")].some(
      (b) => b.textContent === "Approve" && !b.disabled,
    ),
  );
  seen.axe = await axe();
  await page.keyboard.press("Tab");
  seen.focusAfterTab = await focused();
  await approve.click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const told = page.getByRole("row").filter({ hasText: "you approved" });
  await told.waitFor();
  return { ...seen, told: "you approved", console: said };
}

/** reach finds what a server was refused, allows one host, and looks at one that was made to deceive. */
async function reach() {
  const [server, host, lure] = routes;
  const said = listen();
  const once = new URL(link);
  await page.goto(new URL(`/network?server=${server}${once.hash}`, once).href);
  const tried = page.getByRole("list", { name: `What ${server} tried` });
  for (const each of [host, lure])
    await page.getByRole("button", { name: `Allow: ${each}:443` }).waitFor();
  const seen = { axe: await axe() };
  const text = await tried.textContent();
  seen.lureShortened = text.includes("…") && !text.includes(lure);
  await page.getByRole("button", { name: `Allow: ${lure}:443` }).click();
  const dialog = page.getByRole("dialog");
  seen.lureWhole = (await dialog.textContent()).includes(`${lure}:443`);
  await dialog.getByRole("button", { name: "Keep blocked" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: `Allow: ${host}:443` }).click();
  seen.focus = await focused();
  const allow = dialog.getByRole("button", { name: "Allow" });
  seen.armedAtOnce = await allow.isEnabled();
  seen.rule = await dialog.locator("pre").textContent();
  seen.axe.push(...(await axe()));
  await allow.click();
  await dialog.waitFor({ state: "detached" });
  const told = page
    .getByRole("region", { name: server })
    .getByRole("status")
    .filter({ hasText: host });
  await told.waitFor();
  seen.said = await told.textContent();
  await page
    .getByRole("list", { name: `What ${server} may reach` })
    .getByText(`${host}:443`)
    .waitFor();
  return { ...seen, listed: true, console: said };
}

/** secrets makes the file with the key, stores a secret, grants it, and revokes it again. */
async function secrets() {
  const [server, value] = routes;
  const passphrase = "correct horse battery";
  const said = listen();
  const once = new URL(link);
  await page.goto(new URL(`/secrets${once.hash}`, once).href);
  await page.getByRole("button", { name: "Use an encrypted file" }).click();
  await page.getByLabel("Passphrase", { exact: true }).fill(passphrase);
  await page.getByLabel("The same passphrase once more").fill(passphrase);
  const seen = { axe: await axe() };
  await page.getByRole("button", { name: "Make the file" }).click();
  const kept = page.getByText("Values are sealed with");
  await kept.waitFor();
  seen.kept = await kept.textContent();
  await page.getByRole("button", { name: "Set a secret" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("deploy-token");
  await dialog.getByLabel("Value").fill(value);
  seen.axe.push(...(await axe()));
  await dialog.getByRole("button", { name: "Set", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const stored = page.getByText("deploy-token is stored");
  await stored.waitFor();
  seen.said = await stored.textContent();
  await page.getByRole("button", { name: "deploy-token", exact: true }).click();
  await page.getByRole("button", { name: "Grant to a server" }).click();
  await dialog.getByLabel("Server", { exact: true }).selectOption(server);
  await dialog
    .getByLabel("Sent to these hosts only")
    .fill("allowed.example.com");
  seen.axe.push(...(await axe()));
  await dialog.getByRole("button", { name: "Grant", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const cell = page.getByRole("cell").getByText("put in on the way");
  await cell.waitFor();
  seen.cell = await cell.textContent();
  seen.axe.push(...(await axe()));
  await page
    .getByRole("cell")
    .getByRole("button", { name: `Revoke: deploy-token, ${server}` })
    .click();
  await dialog
    .getByRole("button", { name: `Revoke deploy-token from ${server}` })
    .click();
  const revoked = page.getByText("deploy-token is revoked");
  await revoked.waitFor();
  seen.revoked = await revoked.textContent();
  const left = page.getByText("No server. Nobody can use it");
  await left.waitFor();
  seen.left = await left.textContent();
  seen.found = await leftovers([value, passphrase]);
  return { ...seen, console: said };
}

/** leftovers are the places of the browser in which a text still stands. */
function leftovers(texts) {
  return page.evaluate((texts) => {
    const places = {
      page: document.documentElement.outerHTML,
      fields: [...document.querySelectorAll("input,textarea")]
        .map((f) => f.value)
        .join("\n"),
      address: location.href,
      history: JSON.stringify(history.state),
      storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }]),
      cookies: document.cookie,
    };
    return Object.keys(places).filter((name) =>
      texts.some((text) => (places[name] ?? "").includes(text)),
    );
  }, texts);
}

/** listen collects what the page complains about. */
function listen() {
  const said = [];
  page.on("console", (m) => m.type() === "error" && said.push(m.text()));
  page.on("pageerror", (e) => said.push(String(e)));
  return said;
}

/** pages opens every page in both themes and has axe look at it. */
async function pages() {
  await page.goto(link);
  const seen = {};
  for (const path of routes) {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.goto(new URL(path, link).href);
      await page.waitForLoadState("networkidle");
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page
        .getByRole("status", { name: "Loading" })
        .waitFor({ state: "detached" });
      seen[`${path} ${colorScheme}`] = await axe();
    }
  }
  return seen;
}

/** stranger is another browser: it has the port, and no link. */
async function stranger() {
  const seen = await shown(new URL("/", link).href);
  for (const route of routes) {
    const [method, path] = route.split(" ");
    seen[route] = await page.evaluate(
      async ([method, path]) =>
        (
          await fetch(path, {
            method,
            ...(method === "POST" && {
              body: "{}",
              headers: { "Content-Type": "application/json" },
            }),
          })
        ).status,
      [method, path],
    );
  }
  return seen;
}

/** again opens a link that was used. */
async function again() {
  return shown(link);
}

async function shown(url) {
  await page.goto(url);
  return { page: await page.getByRole("heading", { level: 1 }).textContent() };
}

function focused() {
  return page.evaluate(() => document.activeElement?.textContent);
}

/** axe finds what those who cannot see or point would miss, colours included. */
async function axe() {
  const source = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(source);
  const found = await page.evaluate(() => globalThis.axe.run());
  return found.violations.map(
    (v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`,
  );
}
