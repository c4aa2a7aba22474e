/**
 * A library outside the product on the two doors and on extensions alone: a counter with its own messages, a durable table, events, a counter of calls and an error class.
 *
 * The library is `test/fixtures/shoal-counter`. It is laid out as an installed package, and used as a program uses one: on processes, in one process, and in a cluster whose head dies.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { TestCluster } from "shoal/testing";
import { beforeAll, expect, test } from "vitest";
import { NatsServers } from "../control-plane/nats-servers.ts";
import { describeNats } from "../control-plane/planes.ts";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { useFolder } from "./session.ts";

const folder = useFolder();
const FIXTURE = join(REPOSITORY, "test", "fixtures", "shoal-counter");
const PACKAGE = {
  name: "shoal-counter",
  version: "1.0.0",
  type: "module",
  exports: { ".": "./index.ts", "./extension": "./extension.ts" },
};

const directory = join(folder, "a program");
/** Outside node_modules, where Node runs TypeScript. */
const library = join(folder, "shoal-counter");

beforeAll(() => {
  mkdirSync(join(directory, "node_modules"), { recursive: true });
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  cpSync(FIXTURE, library, { recursive: true });
  writeFileSync(join(library, "package.json"), JSON.stringify(PACKAGE));
  for (const modules of [join(directory, "node_modules"), join(folder, "node_modules")])
    symlinkSync(REPOSITORY, join(modules, "shoal"), "dir");
  symlinkSync(library, join(directory, "node_modules", "shoal-counter"), "dir");
  writeFileSync(join(directory, "package.json"), JSON.stringify({ type: "module" }));
});

const PROGRAM = `
import { get, init, remote, shutdown } from "shoal";
import { listCounters, listEvents } from "shoal/internal";
import { callsEnded, Counter, CounterLimitError } from "shoal-counter";

const [mode] = process.argv.slice(2);
await init({ numCpus: 2, mode });
const counter = new Counter("orders", { max: 20 });
await Promise.all([counter.add(1), counter.add(2)]);
const add = remote(async (amount) => new Counter("orders", { max: 20 }).add(amount));
await get([add.remote(3), add.remote(4)]);
const failure = await get(add.remote(100)).then(
  () => "none",
  (error) => [error instanceof CounterLimitError, error.message, error.details, error.hint],
);
const wait = async (check) => {
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
const refused = await wait(async () => (await listEvents({ kind: "counter.refused" })).events[0]);
const added = await wait(async () => (await listCounters({ prefix: "counter." })).find(({ value }) => value === 10));
const ended = await wait(async () => ((await callsEnded()) === 2 ? 2 : undefined));
console.log(JSON.stringify({ total: await counter.total(), failure, refused: refused.fields, added, ended }));
await shutdown();
`;

const EXPECTED = {
  total: 10,
  failure: [
    true,
    "Cannot count 100: orders may reach 20",
    { counter: "orders", max: 20, total: 10 },
    "Count less, or give the counter a larger max.",
  ],
  refused: { counter: "orders", amount: 100 },
  added: { name: "counter.added", tags: { counter: "orders" }, value: 10 },
  ended: 2,
};

/** Counts from the program and from workers, on as many nodes as there are. */
const CLUSTER_PROGRAM = `
import { get, init, nodes, remote, shutdown } from "shoal";
import { Counter } from "shoal-counter";

await init({ address: process.argv[2] });
const counter = new Counter("orders");
await counter.add(1);
const add = remote(async () => new Counter("orders").add(1));
await get((await nodes()).map(({ nodeId }) => add.options({ schedulingStrategy: { nodeId } }).remote()));
console.log(JSON.stringify(await counter.total()));
await shutdown();
`;

const PLACES_PROGRAM = `
import { init, nodes, shutdown } from "shoal";
import { placeOf } from "shoal-counter";

await init({ address: process.argv[2] });
const all = (await nodes()).map(({ nodeId }) => nodeId);
const answers = await Promise.all(all.map((node) => placeOf({ node })));
const gone = await placeOf({ node: "f".repeat(32) }).catch((error) => error.message);
console.log(JSON.stringify({ all, answers: answers.map(({ node }) => node), sizes: answers.map(({ text }) => text.length), gone }));
await shutdown();
`;

async function run(program: string, ...args: readonly string[]): Promise<unknown> {
  const file = join(directory, "main.mjs");
  writeFileSync(file, program);
  const { exitCode, stdout, stderr } = await runProgram([file, ...args], { env: {} });
  expect([exitCode, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

test("the sample library has less than 200 lines", () => {
  const lines = readdirSync(FIXTURE).map((file) => readFileSync(join(FIXTURE, file), "utf8").split("\n").length);
  expect(lines).toHaveLength(3);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(200);
});

test.each(["process", "inProcess"])("a program counts with it in mode %s", async (mode) => {
  expect(await run(PROGRAM, mode)).toEqual(EXPECTED);
});

test("the daemon of every node answers later and with bytes, and a missing node is named as gone", { timeout: 60_000 }, async () => {
  const cluster = await TestCluster.start({ head: { numCpus: 1 }, extensions: [pathToFileURL(join(library, "extension.ts"))] });
  try {
    await cluster.addNode({ numCpus: 1 });
    const { all, answers, sizes, gone } = (await run(PLACES_PROGRAM, cluster.address)) as Record<string, unknown[]>;
    expect(all).toHaveLength(2);
    expect(answers).toEqual(all);
    expect(sizes).toEqual([2_000, 2_000]);
    expect(gone).toBe("Cannot ask placeLater of extension counter: its node is gone");
  } finally {
    await cluster.shutdown();
  }
});

describeNats("a cluster that loads it", () => {
  test("counts on all nodes, and on after its head has died", { timeout: 90_000 }, async () => {
    await using servers = await NatsServers.start();
    const cluster = await TestCluster.start({
      head: { numCpus: 1 },
      nats: { urls: servers.urls },
      extensions: [pathToFileURL(join(library, "extension.ts"))],
    });
    try {
      await cluster.addNode({ numCpus: 1 });
      expect(await run(CLUSTER_PROGRAM, cluster.address)).toBe(3);
      await cluster.killHead();
      await cluster.restartHead();
      expect(await run(CLUSTER_PROGRAM, cluster.address)).toBe(6);
    } finally {
      await cluster.shutdown();
    }
  });
});
