/**
 * Metrics of programs, tasks and actors on the page for Prometheus: exact sums over processes that live and have ended, beside the use of
 * nodes and the state of the cluster.
 */
import { expect, test } from "vitest";
import { until } from "./session.ts";
import { useShoal } from "./shoal-program.ts";

const { run: shoal, startHead, join: joinAgain, program } = useShoal();

const COUNTING = `
import { get, init, kill, remote, shutdown } from "shoal";
import { Counter, Gauge, Histogram } from "shoal/metrics";
await init({ address: "auto", logToDriver: false });
const orders = new Counter("orders", { description: "Orders\\nof the shop", tagKeys: ["shop"] }).setDefaultTags({ shop: "main" });
orders.inc();
orders.inc(2, { shop: 'a "b" \\\\' });
const work = remote((amount: number) => {
  new Counter("orders", { description: "Orders\\nof the shop", tagKeys: ["shop"] }).inc(amount, { shop: "main" });
  new Histogram("seconds", { boundaries: [0.1, 1] }).observe(amount / 4);
});
for (const node of NODES) for (const amount of [1, 2, 8]) await work.options({ schedulingStrategy: { nodeId: node, soft: false } }).remote(amount);
class Room { fill(people: number) { new Gauge("people", { tagKeys: ["room"] }).set(people, { room: "hall" }); } end() { process.exit(3); } }
const room = remote(Room).options({ name: "room", lifetime: "detached", numCpus: 0 }).remote();
const other = remote(Room).options({ numCpus: 0 }).remote();
await room.fill.remote(7);
await other.fill.remote(9);
await new Promise((resolve) => setTimeout(resolve, 1_500));
await other.end.remote().catch(() => {});
const wrong = [
  () => new Counter("a b"),
  () => new Counter("orders"),
  () => new Gauge("orders", { tagKeys: ["shop"] }),
  () => new Counter("c", { tagKeys: ["a b"] }),
  () => new Counter("c", { tagKeys: ["le"] }),
  () => new Counter("c", { tagKeys: ["__name__"] }),
  () => new Counter("c", { tagKeys: ["a", "a"] }),
  () => new Counter("shoal_tasks"),
  () => orders.inc(0),
  () => orders.inc(-1),
  () => orders.inc(Number.POSITIVE_INFINITY),
  () => orders.inc(1, { other: "x" }),
  () => orders.inc(1, { shop: "x".repeat(2_000) }),
  () => new Gauge("people", { tagKeys: ["room"] }).set(1),
  () => new Gauge("g").set(Number.NaN),
  () => new Histogram("h", { boundaries: [2, 1] }),
  () => new Histogram("h", { boundaries: [Number.NaN] }),
].map((make) => { try { make(); return "nothing"; } catch (error) { return (error as Error).message; } });
await shutdown();
console.log(JSON.stringify(wrong));
`;

test("sums of all processes and nodes, gauges of living ones, and the state of the cluster are on one page", {
  timeout: 120_000,
}, async () => {
  const head = await startHead("--num-cpus", "1", "--dashboard-port", "0");
  const other = await joinAgain(head, "--num-cpus", "1");
  const token = (await shoal("token", "create", "--for", "http", "--role", "view")).stdout.trim();
  const page = async (path: string): Promise<Response> =>
    fetch(`${head.dashboardUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const wrong = await program(COUNTING.replace("NODES", JSON.stringify([head.nodeId, other.nodeId])));
  expect(wrong).toEqual([
    expect.stringContaining('its name consists of letters, digits, "_" and ":"'),
    expect.stringContaining("there is one with other tags or of another kind"),
    expect.stringContaining("there is one with other tags or of another kind"),
    expect.stringContaining("a tag's name consists of letters"),
    expect.stringContaining('is not "le" and does not begin with "__": received "le"'),
    expect.stringContaining('is not "le" and does not begin with "__": received "__name__"'),
    expect.stringContaining('a tag\'s name is given once, is not "le"'),
    expect.stringContaining("names that begin with shoal_ are those of Shoal's own metrics"),
    expect.stringContaining("an amount above 0 is needed: received 0"),
    expect.stringContaining("an amount above 0 is needed: received -1"),
    expect.stringContaining("a finite number is needed: received Infinity"),
    expect.stringContaining('it has no tag "other": there are shop'),
    expect.stringContaining("tag shop has more than 1000 characters"),
    expect.stringContaining("a text is needed for tag room: received undefined"),
    expect.stringContaining("a finite number is needed: received NaN"),
    expect.stringContaining("an array of finite numbers that grow is needed"),
    expect.stringContaining("an array of finite numbers that grow is needed"),
  ]);
  let text = "";
  const valueOf = (series: string): number =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${series} `))
        ?.slice(series.length + 1),
    );
  const here = `node_id="${head.nodeId}"`;
  const there = `node_id="${other.nodeId}"`;
  // Workers tell once a second; the machine is looked at each five.
  await until(async () => {
    const response = await page("/metrics");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    text = await response.text();
    return (
      valueOf(`orders{${there},shop="main"}`) === 11 &&
      valueOf(`orders{${here},shop="main"}`) === 12 &&
      text.includes("shoal_node_cpu_utilization")
    );
  }, "all processes to have told");
  expect(valueOf(`orders{${here},shop="a \\"b\\" \\\\"}`)).toBe(2);
  expect(text).toContain("# HELP orders Orders\\nof the shop\n# TYPE orders counter\n");
  expect([valueOf(`seconds_bucket{${there},le="1"}`), valueOf(`seconds_count{${there}}`), valueOf(`seconds_sum{${there}}`)]).toEqual([
    2, 3, 2.75,
  ]);
  expect(text.match(/^people\{.*\} \d+$/gm)).toEqual([expect.stringMatching(/worker_id="[0-9a-f]{32}",room="hall"\} 7$/)]);
  expect(valueOf('shoal_tasks{Name="work",State="FINISHED"}')).toBe(6);
  expect(valueOf('shoal_actors{Name="Room",State="ALIVE"}')).toBe(1);
  expect([
    valueOf('shoal_resources{Name="CPU",State="AVAILABLE"}'),
    valueOf("shoal_cluster_nodes"),
    valueOf("shoal_nodes_missing"),
  ]).toEqual([2, 2, 0]);
  expect(valueOf(`shoal_node_mem_total{${here}}`)).toBeGreaterThan(1e6);
  expect(valueOf(`shoal_object_store_memory{${here},Location="SPILLED"}`)).toBe(0);
  const ofNode = await (await page(`/metrics/nodes/${other.nodeId}`)).text();
  expect(ofNode).toContain(`orders{${there},shop="main"} 11`);
  expect(ofNode).not.toContain(here);
  for (const id of ["none", "..%2f", "%22", "a".repeat(1_000)])
    expect([id, (await page(`/metrics/nodes/${id}`)).status]).toEqual([id, 404]);
  const targets = await (await page("/api/prometheus/sd")).json();
  expect(targets).toEqual([{ targets: [new URL(head.dashboardUrl).host], labels: { __metrics_path__: "/metrics", job: "shoal" } }]);
  expect((await fetch(`${head.dashboardUrl}/metrics`)).status).toBe(401);
});
