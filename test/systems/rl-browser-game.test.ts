/** The game of `examples/rl-browser-game.ts` in a real Chromium (Debian's `chromium`): the page plays, and the program learns. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { unless } from "../integration/python-places.ts";

const CHROMIUM = "/usr/bin/chromium";
const problem = existsSync(CHROMIUM) ? undefined : `no ${CHROMIUM}: apt-get install chromium`;
/** For people who look at the page: a folder that is there. */
const PICTURES = process.env["SHOAL_TEST_PICTURES"];
const ITERATIONS = 14;

test.skipIf(problem !== undefined)(
  `a game in a page learns to catch balls, without faults in the page${unless(problem)}`,
  { timeout: 300_000 },
  async () => {
    const address = Promise.withResolvers<string>();
    const program = runProgram(["examples/rl-browser-game.ts", "--port", "0", "--iterations", String(ITERATIONS)], {
      timeoutMs: 240_000,
      onStart: (child) =>
        child.stdout?.on("data", (text: string) => {
          const [url] = /http:\S+/.exec(text) ?? [];
          if (url !== undefined) address.resolve(url);
        }),
    });
    const browser: Browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    onTestFinished(() => browser.close());
    const page = await browser.newPage({ viewport: { width: 1080, height: 780 } });
    const faults: string[] = [];
    page.on("pageerror", ({ message }) => faults.push(message));
    page.on("console", (message) => faults.push(message.text()));
    await page.goto(await address.promise);
    await page.getByRole("button", { name: "4×" }).click();
    await page.waitForFunction("Number(document.querySelector('#games').textContent) > 80", undefined, { timeout: 240_000 });
    expect(faults).toEqual([]);
    if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, "rl-browser-game.png") });
    expect(Number(await page.locator("#version").textContent())).toBeGreaterThan(0);
    const { stdout, stderr, exitCode } = await program;
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    const earned = Array.from(stdout.matchAll(/earns (\S+) of 10/g), ([, mean]) => Number(mean));
    expect(earned).toHaveLength(ITERATIONS);
    // The mean is that of the last 100 games, so it lags behind.
    expect(earned.at(-1)).toBeGreaterThan((earned[0] as number) + 4);
  },
);

test("the program refuses a port that does not exist", async () => {
  const { exitCode, stderr } = await runProgram(["examples/rl-browser-game.ts", "--port", "70000"]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("The port is a number from 0 to 65535");
});
