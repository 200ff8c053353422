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
  console.log(JSON.stringify(await { approve, stranger, again, pages }[act]()));
} finally {
  await browser.close();
}

/** approve opens the link, finds the waiting call, looks at the question, and clicks Approve once Tab has reached it. */
async function approve() {
  const said = [];
  page.on("console", (m) => m.type() === "error" && said.push(m.text()));
  page.on("pageerror", (e) => said.push(String(e)));
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
