/** The dashboard's page in a real Chromium (Debian's `chromium`): login, each page, both themes, a phone, and names that attack. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unless } from "../integration/python-places.ts";
import { until } from "../integration/session.ts";
import { useShoal } from "../integration/shoal-program.ts";

const CHROMIUM = "/usr/bin/chromium";
const problem = existsSync(CHROMIUM) ? undefined : `no ${CHROMIUM}: apt-get install chromium`;
/** For people who look at the page: a folder that is there. */
const PICTURES = process.env["SHOAL_TEST_PICTURES"];
const ATTACK = "<img src=x onerror=alert(1)>\u202Eexe";

describe.skipIf(problem !== undefined)(`the dashboard in Chromium${unless(problem)}`, () => {
  const { run, startHead, program, pidOf } = useShoal({}, { endsAfterAll: true });
  let browser: Browser;
  let origin: string;
  let nodeId: string;
  /** Errors of the console, dialogs and requests elsewhere, of all pages. */
  const faults: string[] = [];

  beforeAll(async () => {
    ({ dashboardUrl: origin, nodeId } = await startHead("--dashboard-port", "0", "--labels", "zone=a"));
    await program(`
import { init, ready, remote, shutdown } from "shoal";
class Keeper { value() { return 1; } say(text: string) { console.log(text); console.error("to standard error"); } }
class Holder { value() { return 1; } }
await init({ address: "auto", logToDriver: false });
const keeper = remote(Keeper).options({ numCpus: 0, name: "the-keeper", lifetime: "detached" }).remote();
const holder = remote(Holder).options({ numCpus: 0, name: ${JSON.stringify(ATTACK)}, lifetime: "detached" }).remote();
await Promise.all([ready(keeper), ready(holder)]);
await keeper.say.remote("first line\\n\\u001b[31mred\\u001b[0m " + ${JSON.stringify(ATTACK)} + "\\u0007");
const failing = remote(() => { throw new Error("no such picture"); });
await failing.remote().catch(() => {});
const one = remote(() => 1);
await Promise.all(Array.from({ length: 101 }, () => one.remote()));
await shutdown();
console.log("[]");
`);
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  }, 120_000);

  afterAll(() => browser?.close());

  async function openPage(options: { colorScheme?: "light" | "dark"; viewport?: { width: number; height: number } } = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") faults.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      faults.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(`${origin}/`)) faults.push(`request: ${request.url()}`);
    });
    return page;
  }

  /** As somebody who clicks the link. */
  async function loggedIn(options: Parameters<typeof openPage>[0] = {}): Promise<Page> {
    const page = await openPage(options);
    await page.goto((await run("dashboard")).stdout.trim());
    await page.getByRole("table").waitFor();
    return page;
  }

  async function picture(page: Page, name: string): Promise<void> {
    if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }

  const widthOf = (page: Page): Promise<number> => page.evaluate<number>("document.documentElement.scrollWidth");

  test("a link logs in once, leaves no code in the address, and shows the node", async () => {
    const page = await openPage();
    const link = (await run("dashboard")).stdout.trim();
    const beganMs = performance.now();
    await page.goto(link);
    await page.getByText(nodeId).waitFor();
    const tookMs = performance.now() - beganMs;
    if (PICTURES !== undefined) console.log(`login to first content: ${Math.round(tookMs)} ms`);
    expect(page.url()).toBe(`${origin}/ui/nodes`);
    expect(await page.getByRole("table").innerText()).toMatch(/ALIVE[\s\S]*CPU[\s\S]*0 \/ 1[\s\S]*zone=a/);
    expect(await page.locator(".age").innerText()).toMatch(/^1 of 1 · as of \d\d:\d\d:\d\d$/);
    await picture(page, "nodes-light");
    const other = await openPage();
    await other.goto(link);
    await other.getByText("the link was used").waitFor();
    expect(other.url()).toBe(`${origin}/ui/login`);
    await other.getByLabel("Token").fill("wrong");
    await other.keyboard.press("Enter");
    await other.getByText("This token is a wrong one").waitFor();
    await picture(other, "login");
    await other.getByLabel("Token").fill((await run("get-auth-token")).stdout.trim());
    await other.keyboard.press("Enter");
    await other.getByText(nodeId).waitFor();
    // The two refusals are in the console as such.
    expect(faults.splice(0).map((fault) => /status of (\d+)/.exec(fault)?.[1] ?? fault)).toEqual(["403", "401"]);
    await page.context().close();
    await other.context().close();
  });

  test("each list is there; filters and pages stand in the address; attacks are text", async () => {
    const page = await loggedIn({ colorScheme: "dark" });
    await picture(page, "nodes-dark");
    await page.getByRole("link", { name: "Actors" }).click();
    await page.getByText("the-keeper").waitFor();
    await page.getByText("<img src=x onerror=alert(1)>\\u{202e}exe").waitFor();
    expect(await page.locator("td img").count()).toBe(0);
    await picture(page, "actors-dark");
    await page.getByLabel("contains").fill("Keep");
    await until(async () => (await page.getByRole("row").count()) === 2, "one actor");
    expect(page.url()).toBe(`${origin}/ui/actors?filter=Keep`);
    await page.getByLabel("State").selectOption("DEAD");
    await page.getByText("None matches").waitFor();
    expect(page.url()).toBe(`${origin}/ui/actors?filter=Keep&state=DEAD`);
    await page.goBack();
    await page.getByText("the-keeper").waitFor();
    await page.reload();
    await page.getByText("the-keeper").waitFor();
    expect(await page.getByLabel("contains").inputValue()).toBe("Keep");
    await page.goto(`${origin}/ui/tasks?state=FAILED`);
    await page.getByText("no such picture").first().waitFor();
    await picture(page, "tasks-dark");
    await page.getByLabel("State").selectOption("FINISHED");
    await page.getByText("100 of 102 that match, of 103 in all").waitFor();
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByText("2 of 102 that match, of 103 in all").and(page.getByText(/^2 of/)).waitFor();
    expect(page.url()).toMatch(/\?state=FINISHED&page_token=./);
    expect(await page.getByRole("row").count()).toBe(3);
    await page.getByRole("button", { name: "Newest" }).click();
    await page.getByText("100 of 102 that match").waitFor();
    expect(page.url()).toBe(`${origin}/ui/tasks?state=FINISHED`);
    await page.getByRole("link", { name: "Workers" }).click();
    await page.locator("td").getByText("ALIVE").first().waitFor();
    await picture(page, "workers-dark");
    await page.getByRole("link", { name: "Placement groups" }).click();
    await page.getByText("There is none").waitFor();
    expect(faults).toEqual([]);
    await page.goto(`${origin}/ui/nodes?by=nothing&filter=x`);
    await page.getByText("there is no column nothing").waitFor();
    expect(faults.splice(0)).toEqual([expect.stringContaining("status of 400")]);
    await page.context().close();
  });

  test("output of an actor is shown as text, found from its row, and searched; files are listed and saved", async () => {
    const page = await loggedIn({ colorScheme: "dark" });
    await page.goto(`${origin}/ui/actors?filter=Keep`);
    await page.getByRole("link", { name: "show" }).click();
    const text = page.getByRole("log");
    await page.getByText("first line").waitFor();
    expect(await text.innerText()).toBe("first line\nred <img src=x onerror=alert(1)>\\u{202e}exe\\u{7}");
    expect(await text.locator("img").count()).toBe(0);
    await picture(page, "log-dark");
    await page.getByLabel("Lines with").fill("red");
    await until(async () => !(await text.innerText()).includes("first line"), "one line");
    await page.getByLabel("Stream").selectOption("errors");
    await page.getByText("to standard error").waitFor();
    expect(page.url()).toMatch(/\/ui\/logs\?by=actor_id&filter=[0-9a-f]{32}&state=err$/);
    await page.goBack();
    await page.getByText("first line").waitFor();
    await page.getByRole("link", { name: "Logs" }).click();
    await page.getByLabel("Name or node contains").fill("supervisor");
    await page.getByRole("link", { name: "supervisor.log" }).click();
    await page.getByText("Starts: process").waitFor();
    await picture(page, "log-file-dark");
    expect(await page.getByText("goes on").count()).toBe(1);
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Save all" }).click()]);
    expect(saved.suggestedFilename()).toBe("supervisor.log");
    expect(faults).toEqual([]);
    await page.goto(`${origin}/ui/logs?by=filename&filter=..%2fhttp-token`);
    await page.getByText("no log has the name").waitFor();
    expect(faults.splice(0)).toEqual([expect.stringContaining("status of 404")]);
    await page.context().close();
  });

  test("a phone of 360 pixels shows all without scrolling sideways", async () => {
    const page = await loggedIn({ viewport: { width: 360, height: 740 } });
    for (const name of ["nodes", "actors", "tasks", "workers", "logs"]) {
      await page.goto(`${origin}/ui/${name}`);
      await page
        .locator(".age")
        .getByText(/as of|^\d+ of/)
        .waitFor();
      expect([name, await widthOf(page)]).toEqual([name, 360]);
      await picture(page, `${name}-phone`);
    }
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test("the keyboard reaches the lists, and the page follows a server that was killed", { timeout: 60_000 }, async () => {
    const page = await loggedIn();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("the-keeper").waitFor();
    expect(page.url()).toBe(`${origin}/ui/actors`);
    const before = pidOf("the dashboard");
    process.kill(before, "SIGSTOP");
    await page.getByText("(old)").waitFor();
    await picture(page, "old");
    process.kill(before, "SIGKILL");
    await until(() => ![0, before].includes(pidOf("the dashboard")), "another dashboard");
    await until(async () => !(await page.locator(".age").innerText()).includes("old"), "new rows");
    expect(faults.splice(0).filter((fault) => !fault.includes("net::ERR_"))).toEqual([]);
    await page.context().close();
  });
});
