/**
 * Nodes that are cut off, and heads that are away: some nodes end, others go on, and no two incarnations of an actor run at a time
 * (`src/runtime/node/membership/fencing/fence-watch.ts`).
 *
 * An actor's own lines tell when it ran, by the clock of the machine that all nodes of a test share.
 */
import { appendFileSync } from "node:fs";
import { get, init, nodes, python, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { isAlive, Log, until, useFolder } from "./session.ts";

class Diarist {
  constructor(file: string) {
    const write = (): void => appendFileSync(file, `${process.pid} ${Date.now()}\n`);
    write();
    setInterval(write, 20);
  }
  pid(): number {
    return process.pid;
  }
}

const DIARIST = new URL("python/diarist.py", import.meta.url);

const folder = useFolder();
const said: string[] = [];
let cluster: TestCluster;
let second: TestNode;
let third: TestNode;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const aliveNodes = async (): Promise<number> => (await nodes()).filter(({ alive }) => alive).length;

beforeAll(async () => {
  cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: (line) => void said.push(line) });
  second = await cluster.addNode({ numCpus: 2 });
  third = await cluster.addNode({ numCpus: 2 });
});
afterAll(() => cluster.shutdown());
beforeEach(async () => {
  await init({ address: cluster.address, logToDriver: false });
});
afterEach(shutdown);

describe("a head that is away", () => {
  test("for ten seconds because it stands still, or for twelve because it was killed, ends no node and no actor", {
    timeout: 90_000,
  }, async () => {
    const log = new Log(folder);
    const actor = remote(Diarist)
      .options({ schedulingStrategy: { nodeId: second.nodeId, soft: false } })
      .remote(log.file);
    const pid = await get(actor.pid.remote());
    const daemons = cluster.nodes.map((node) => node.pid);
    cluster.pauseHead();
    await sleep(10_000);
    cluster.resumeHead();
    await until(async () => (await aliveNodes()) === 3, "the head to answer");
    expect(daemons.filter((daemon) => !isAlive(daemon))).toEqual([]);
    expect(await get(actor.pid.remote())).toBe(pid);

    await cluster.killHead();
    await sleep(12_000);
    expect(daemons.filter((daemon) => !isAlive(daemon))).toEqual([]);
    await cluster.restartHead();
    await until(async () => (await aliveNodes()) === 3, "the nodes to have registered");
    // A daemon that ends because of the absence would have ended by now.
    await sleep(2_000);
    expect(daemons.filter((daemon) => !isAlive(daemon))).toEqual([]);
    expect(await get(actor.pid.remote())).toBe(pid);
    const times = log.lines.map((line) => Number(line.split(" ")[1]));
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(5_000);
  });
});

describe("a daemon that stands still while its workers do not", () => {
  test(`has them stand still before their actors live elsewhere, and take no call that was on its way${unless(WITHOUT_PYTHON)}`, {
    timeout: 90_000,
  }, async () => {
    const node = await cluster.addNode({ numCpus: 1 });
    const options = { numCpus: 0, maxRestarts: 1, maxTaskRetries: -1, schedulingStrategy: { nodeId: node.nodeId, soft: true } };
    const ofPython = WITHOUT_PYTHON === undefined ? [python.actor<{ pid(): number }>(DIARIST, "Diarist", options)] : [];
    const lives = [remote(Diarist, options), ...ofPython].map((kind) => {
      const log = new Log(folder);
      const actor = kind.remote(log.file);
      const pids = (): string[] => Array.from(new Set(log.lines.map((line) => line.split(" ")[0] ?? "")));
      const timesOf = (of: string): number[] =>
        log.lines.filter((line) => line.startsWith(`${of} `)).map((line) => Number(line.split(" ")[1]));
      return { actor, pids, timesOf };
    });
    const before = await Promise.all(lives.map(({ actor }) => get(actor.pid.remote())));
    node.pause();
    await until(() => lives.every(({ pids }) => pids().length > 1), "the actors to live elsewhere");
    expect(lives.map(({ pids }) => pids()[0])).toEqual(before.map(String));
    // Calls that the old processes have not read yet.
    const answered = lives.map(({ actor }) => get(actor.pid.remote()));
    await sleep(500);
    node.resume();
    expect((await Promise.all(answered)).map(String)).toEqual(lives.map(({ pids }) => pids()[1]));
    await until(() => before.every((pid) => !isAlive(pid)) && !isAlive(node.pid), "the node and its workers to end");
    for (const { pids, timesOf } of lives) {
      const [first = "", next = ""] = pids();
      expect(Math.max(...timesOf(first))).toBeLessThan(Math.min(...timesOf(next)));
    }
  });
});

describe.skipIf(process.platform !== "linux")("a node that is cut off from all others", () => {
  test("ends before its actor lives elsewhere", { timeout: 90_000 }, async () => {
    const log = new Log(folder);
    const actor = remote(Diarist)
      .options({ maxRestarts: 1, schedulingStrategy: { nodeId: third.nodeId, soft: true } })
      .remote(log.file);
    const pid = await get(actor.pid.remote());
    await cluster.partition([third]);
    const cutMs = performance.now();
    await until(() => !isAlive(third.pid), "the node to end");
    // Seven seconds after a question that was answered: the last one is a second older than the cut, or more on a busy machine. After two it is only suspected.
    expect(performance.now() - cutMs).toBeGreaterThan(4_000);
    const pids = (): string[] => Array.from(new Set(log.lines.map((line) => line.split(" ")[0] ?? "")));
    await until(() => pids().length > 1, "the actor to live elsewhere");
    await cluster.heal();
    expect(pids()).toHaveLength(2);
    const timesOf = (of: string): number[] =>
      log.lines.filter((line) => line.startsWith(`${of} `)).map((line) => Number(line.split(" ")[1]));
    const [first = "", next = ""] = pids();
    expect(first).toBe(String(pid));
    expect(Math.max(...timesOf(first))).toBeLessThan(Math.min(...timesOf(next)));
    expect(isAlive(pid)).toBe(false);
    expect(said.join("\n")).toContain("nothing is heard from the head's machine");
  });
});
