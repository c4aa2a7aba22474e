/** The dashboard's page in a real Chromium (Debian's `chromium`): login, each page, both themes, a phone, and names that attack. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
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
await Promise.all(Array.from({ length: 10_001 }, () => one.remote()));
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
    await page.getByRole("heading", { name: "Use of the machines" }).waitFor();
    return page;
  }

  async function picture(page: Page, name: string): Promise<void> {
    if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }

  const menu = (page: Page, name: string): Promise<void> =>
    page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name }).click();

  const widthOf = (page: Page): Promise<number> => page.evaluate<number>("document.documentElement.scrollWidth");

  test("a link logs in once, leaves no code in the address, and shows the node", async () => {
    const page = await openPage();
    const link = (await run("dashboard")).stdout.trim();
    const beganMs = performance.now();
    await page.goto(link);
    await page.getByRole("heading", { name: "Use of the machines" }).waitFor();
    const tookMs = performance.now() - beganMs;
    if (PICTURES !== undefined) console.log(`login to first content: ${Math.round(tookMs)} ms`);
    expect(page.url()).toBe(`${origin}/ui/overview`);
    await picture(page, "overview-light");
    await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Nodes" }).click();
    await page.getByText("zone=a").waitFor();
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
    await other.getByRole("heading", { name: "Use of the machines" }).waitFor();
    // The two refusals are in the console as such.
    expect(faults.splice(0).map((fault) => /status of (\d+)/.exec(fault)?.[1] ?? fault)).toEqual(["403", "401"]);
    await page.context().close();
    await other.context().close();
  });

  test("each list is there; filters and pages stand in the address; attacks are text", async () => {
    const page = await loggedIn({ colorScheme: "dark" });
    await picture(page, "overview-dark");
    await menu(page, "Nodes");
    await page.getByText(nodeId).waitFor();
    await picture(page, "nodes-dark");
    await menu(page, "Actors");
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
    await page.getByText(/^100 of [\d,]+ that match, of 10,003 in all/).waitFor();
    await page.getByRole("button", { name: "Older" }).click();
    await until(() => page.url().includes("page_token"), "the second page");
    expect(page.url()).toMatch(/\?state=FINISHED&page_token=./);
    expect(await page.getByRole("row").count()).toBe(101);
    await page.getByRole("button", { name: "Newest" }).click();
    await page.getByText(/^100 of [\d,]+ that match/).waitFor();
    expect(page.url()).toBe(`${origin}/ui/tasks?state=FINISHED`);
    await menu(page, "Workers");
    await page.locator("td").getByText("ALIVE").first().waitFor();
    await picture(page, "workers-dark");
    await menu(page, "Placement groups");
    await page.getByText("There is none").waitFor();
    expect(faults).toEqual([]);
    await page.goto(`${origin}/ui/nodes?by=nothing&filter=x`);
    await page.getByText("there is no column nothing").waitFor();
    expect(faults.splice(0)).toEqual([expect.stringContaining("status of 400")]);
    await page.context().close();
  });

  test("the overview leads to the error, the call and its worker; a click on a column sorts", async () => {
    const page = await loggedIn();
    const errors = page.locator("section", { has: page.getByRole("heading", { name: "Newest errors" }) });
    await errors.getByText("no such picture").first().waitFor();
    await errors.getByRole("link").last().click();
    await page.getByRole("heading", { name: /^Task / }).waitFor();
    expect(page.url()).toMatch(/\/ui\/tasks\?id=[0-9a-f]{32}$/);
    const facts = page.locator(".facts");
    expect(await facts.innerText()).toMatch(/attempt number\n0\n[\s\S]*state\nFAILED\n[\s\S]*error type\nTASK_EXECUTION_EXCEPTION/);
    await picture(page, "task-light");
    await facts.locator("div", { hasText: "worker id" }).getByRole("link").click();
    await page.getByRole("heading", { name: /^Worker / }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "Calls that it made" }).click();
    await page.getByText("None matches").waitFor();
    await page.goto(`${origin}/ui/tasks?state=FINISHED`);
    await page.getByRole("button", { name: "Name" }).click();
    await page.locator("th[aria-sort=ascending]").getByText("Name").waitFor();
    await page.getByText("Keeper.say").waitFor();
    expect(page.url()).toBe(`${origin}/ui/tasks?state=FINISHED&sort=name`);
    await page.getByRole("button", { name: "Name" }).click();
    await page.locator("th[aria-sort=descending]").getByText("Name").waitFor();
    await until(async () => (await page.getByText("Keeper.say").count()) === 0, "the other end of the list");
    await page.goto(`${origin}/ui/tasks?id=none`);
    await page.getByText("The cluster has no such row").waitFor();
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test("a token that only reads sees all; a hidden page asks nothing; a session that ends leads back to the same list", async () => {
    const viewToken = (await run("token", "create", "--for", "http", "--role", "view")).stdout.trim().split("\n").at(-1) ?? "";
    const page = await openPage();
    await page.goto(`${origin}/ui/tasks?state=FAILED`);
    await page.getByLabel("Token").fill(viewToken);
    await page.keyboard.press("Enter");
    await page.getByText("no such picture").first().waitFor();
    faults.splice(0);
    let asked = 0;
    const show = (isHidden: boolean): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`,
      );
    await page.waitForResponse((response) => response.url().includes("/api/v0/tasks"));
    await show(true);
    page.on("request", () => {
      asked += 1;
    });
    // A page in view asks each two seconds.
    await page.waitForTimeout(2_500);
    expect(asked).toBe(0);
    await show(false);
    await until(() => asked > 0, "a question");
    const cookies = await page.context().cookies();
    await page.context().addCookies(cookies.map((cookie) => ({ ...cookie, value: `${cookie.value.slice(0, -2)}AA` })));
    await page.getByText("the session has expired: log in again").waitFor();
    await page.getByLabel("Token").fill(viewToken);
    await page.keyboard.press("Enter");
    await page.getByText("no such picture").first().waitFor();
    expect(page.url()).toBe(`${origin}/ui/tasks?state=FAILED`);
    expect(faults.splice(0).map((fault) => /status of (\d+)/.exec(fault)?.[1] ?? fault)).toEqual(["403"]);
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
    await menu(page, "Logs");
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

  test("a job is shown with its output, stopped and deleted by its buttons, and a token that only reads is refused", async () => {
    const submitted = await run("job", "submit", "--no-wait", "--submission-id", "long-job", "--", "echo begins; sleep 600");
    expect([submitted.exitCode, submitted.stderr]).toEqual([0, ""]);
    const page = await loggedIn();
    await menu(page, "Jobs");
    const row = page.getByRole("row", { name: "long-job" });
    await row.getByText("RUNNING", { exact: true }).waitFor();
    expect(await row.innerText()).toContain("echo begins; sleep 600");
    await picture(page, "jobs-light");
    await row.getByRole("link", { name: "show" }).click();
    await page.getByText("begins").waitFor();
    await page.goBack();
    const viewToken = (await run("token", "create", "--for", "http", "--role", "view")).stdout.trim().split("\n").at(-1) ?? "";
    const viewer = await openPage();
    await viewer.goto(`${origin}/ui/jobs`);
    await viewer.getByLabel("Token").fill(viewToken);
    await viewer.keyboard.press("Enter");
    await viewer.getByRole("button", { name: "stop long-job" }).click();
    await viewer.getByText("a token of the role admin is needed").waitFor();
    await viewer.context().close();
    expect(faults.splice(0).map((fault) => /status of (\d+)/.exec(fault)?.[1] ?? fault)).toEqual(["401", "403"]);
    await row.getByRole("button", { name: "stop long-job" }).click();
    await row.getByText("STOPPED", { exact: true }).waitFor();
    await page.getByLabel("State").selectOption("RUNNING");
    await page.getByText("None matches").waitFor();
    expect(page.url()).toBe(`${origin}/ui/jobs?state=RUNNING`);
    await page.getByLabel("State").selectOption("");
    await row.getByRole("button", { name: "delete long-job" }).click();
    await until(async () => (await row.count()) === 0, "the end of the row");
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test.each(["light", "dark"] as const)("axe finds no fault of accessibility on any page of the %s theme", async (colorScheme) => {
    const page = await loggedIn({ colorScheme });
    const failed = (await page.request.get(`${origin}/api/v0/tasks?filter_keys=state&filter_predicates==&filter_values=FAILED`)).json();
    const { data } = (await failed) as { data: { result: { result: { task_id: string }[] } } };
    const details = `tasks?id=${data.result.result[0]?.task_id}`;
    const names = [
      "overview",
      "jobs",
      "nodes",
      "actors",
      "tasks",
      "workers",
      "placement_groups",
      "logs",
      "logs?by=filename&filter=supervisor.log",
    ];
    for (const name of [...names, details]) {
      await page.goto(`${origin}/ui/${name}`);
      await page.locator("main :is(table, .plain, .empty, .facts, pre)").first().waitFor();
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>("axe.run()");
      expect([name, violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" ")}`)]).toEqual([
        name,
        [],
      ]);
    }
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test("a phone of 360 pixels shows all without scrolling sideways", async () => {
    const page = await loggedIn({ viewport: { width: 360, height: 740 } });
    for (const name of ["overview", "jobs", "nodes", "actors", "tasks", "workers", "logs"]) {
      await page.goto(`${origin}/ui/${name}`);
      await page
        .locator(".age")
        .getByText(/as of|^\d+ of/)
        .waitFor();
      await page.locator("main :is(table, .plain)").first().waitFor();
      expect([name, await widthOf(page)]).toEqual([name, 360]);
      await picture(page, `${name}-phone`);
    }
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test("the keyboard reaches the lists, and the page follows a server that was killed", { timeout: 60_000 }, async () => {
    const page = await loggedIn();
    for (let tabs = 0; tabs < 4; tabs += 1) await page.keyboard.press("Tab");
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
