/** The page of metrics, checked by Prometheus' own `promtool` (Debian's `prometheus`), and scraped by a real Prometheus. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unless } from "../integration/python-places.ts";
import { until } from "../integration/session.ts";
import { useShoal } from "../integration/shoal-program.ts";

const [PROMTOOL, PROMETHEUS] = ["/usr/bin/promtool", "/usr/bin/prometheus"] as const;
const problem = existsSync(PROMTOOL) && existsSync(PROMETHEUS) ? undefined : `no ${PROMTOOL}: apt-get install prometheus`;

/** Quotes, a line end, a backslash and a mark of direction. */
const SHOP = 'a "b"\n\\ ä \u202e';

const COUNTING = `
import { init, remote, shutdown } from "shoal";
import { Counter, Gauge, Histogram } from "shoal/metrics";
await init({ address: "auto", logToDriver: false });
new Counter("orders_total", { description: 'With "quotes", \\\\\\\\ and\\\\na line', tagKeys: ["shop"] }).inc(3, { shop: ${JSON.stringify(SHOP)} });
new Gauge("temperature_celsius", { description: "t" }).set(-1.5e-7);
new Histogram("wait_seconds", { description: "w", boundaries: [0.1, 1, 10] }).observe(0.5);
await remote(() => 1).remote();
await shutdown();
console.log("[]");
`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.skipIf(problem !== undefined)(`metrics and Prometheus${unless(problem)}`, () => {
  const { run, startHead, program, folder } = useShoal({}, { endsAfterAll: true });
  let origin: string;
  let token: string;
  let prometheus: ChildProcess | undefined;

  beforeAll(async () => {
    ({ dashboardUrl: origin } = await startHead("--dashboard-port", "0"));
    token = (await run("token", "create", "--for", "http", "--role", "view")).stdout.trim();
    await program(COUNTING);
  }, 120_000);

  afterAll(async () => {
    if (prometheus === undefined) return;
    const ended = new Promise((resolve) => prometheus?.on("close", resolve));
    prometheus.kill("SIGKILL");
    await ended;
  });

  const page = async (): Promise<string> => (await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();

  test("promtool finds no fault in the page", async () => {
    await until(async () => (await page()).includes("shoal_node_cpu_utilization"), "the machine's use");
    const text = await page();
    expect(text).toContain("orders_total{");
    const { stdout, stderr } = spawnSync(PROMTOOL, ["check", "metrics"], { input: text, encoding: "utf8" });
    // Advice about two names that are Ray's.
    expect([stdout, stderr.trim().split("\n")]).toEqual([
      "",
      [expect.stringMatching(/^shoal_node_cpu_count .*suffix$/), expect.stringMatching(/^shoal_node_mem_total .*suffix$/)],
    ]);
  });

  test("Prometheus finds the page by the list of targets, scrapes it, and has the values as they were", { timeout: 90_000 }, async () => {
    const port = await freePort();
    const [config, tokenFile] = [join(folder, "prometheus.yml"), join(folder, "a token")];
    writeFileSync(tokenFile, token);
    const { stdout: printed } = await run("metrics", "prometheus", "--credentials-file", tokenFile);
    writeFileSync(config, printed.replace("scrape_interval: 10s", "scrape_interval: 1s"));
    expect(spawnSync(PROMTOOL, ["check", "config", config], { encoding: "utf8" }).status).toBe(0);
    prometheus = spawn(
      PROMETHEUS,
      [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, "tsdb")}`, `--web.listen-address=127.0.0.1:${port}`],
      { stdio: "ignore" },
    );
    interface Answer {
      data: { result: { metric: Record<string, string>; value: [number, string] }[] };
    }
    const ask = async (query: string): Promise<Answer["data"]["result"]> => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`).catch(() => undefined);
      return response?.ok === true ? ((await response.json()) as Answer).data.result : [];
    };
    await until(async () => (await ask("orders_total")).length === 1, "Prometheus to have scraped");
    const [orders] = await ask("orders_total");
    expect([orders?.value[1], orders?.metric["shop"]]).toEqual(["3", SHOP]);
    expect((await ask("temperature_celsius")).length).toBeLessThanOrEqual(1);
    expect((await ask('wait_seconds_bucket{le="1"}'))[0]?.value[1]).toBe("1");
    expect((await ask('up{job="shoal"}')).map(({ value }) => value[1])).toEqual(["1"]);
    expect((await ask("scrape_samples_scraped > 10")).length).toBe(1);
    // Each panel of the board shows something: rates need two scrapes.
    const board = JSON.parse((await run("metrics", "grafana")).stdout) as { panels: { targets: { expr: string }[] }[] };
    const expressions = board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(10);
    for (const expression of expressions.filter((one) => !/FAILED|shoal_actors|State!~/.test(one)))
      await until(async () => (await ask(expression)).length > 0, `values of ${expression}`);
  });
});
