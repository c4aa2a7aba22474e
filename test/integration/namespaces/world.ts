/**
 * Machines with a network of their own each, joined by a bridge that this process cuts: what is not heard is lost by the kernel, and no part of Shoal knows of it.
 *
 * Runs as the first process of namespaces of its own (users, processes, mounts, network), in which it may do everything and after which nothing is left. Prints what it
 * saw as one line of JSON.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { nowMs } from "../../../chaos/clock.ts";
import { twoLives } from "../../../chaos/checks.ts";
import { readWitnesses } from "../../../chaos/witness.ts";
import type { Machine } from "./machine.ts";

/** What the test reads. */
export interface Seen {
  /** The longest call between two nodes while the head was cut off. */
  readonly worstWithoutHeadMs: number;
  /** Processes that the actor had had after a cut of its node that was short. */
  readonly livesAfterShortCut: number;
  /** From the cut to the first answer from elsewhere. */
  readonly backMs: number;
  readonly twoLives: readonly string[];
  /** How the node that was taken for dead ended when it was heard again. */
  readonly ended: string;
  readonly left: readonly string[];
}

const FOLDER = "/run/world";
const LOGS = `${FOLDER}/logs`;
const ANSWERS = `${FOLDER}/answers`;
const TMP = `${FOLDER}/tmp`;
const HOSTS = { head: "10.77.0.1", a: "10.77.0.2", b: "10.77.0.3", c: "10.77.0.4" } as const;
type Host = keyof typeof HOSTS;

const HEAD_CUT_MS = 3000;
const SHORT_CUT_MS = 1500;
const BACK_WITHIN_MS = 30_000;
const ENDED_WITHIN_MS = 20_000;
const LEFT_WITHIN_MS = 10_000;

class Running {
  readonly child: ChildProcess;
  readonly #lines: string[] = [];
  #onLine = (): void => {};

  constructor(host: Host, machine: Machine) {
    const script = new URL("machine.ts", import.meta.url).pathname;
    const args = [`--net=/run/netns/${host}`, process.execPath, "--disable-warning=ExperimentalWarning", script, JSON.stringify(machine)];
    // A machine has its own temporary folder, too.
    const env = { ...process.env, TMPDIR: `${TMP}/${host}` };
    this.child = spawn("nsenter", args, { env, stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      this.#lines.push(line);
      this.#onLine();
    });
  }

  /** The next thing that it tells. */
  async next(withinMs = 60_000): Promise<Record<string, string>> {
    const endMs = nowMs() + withinMs;
    while (this.#lines.length === 0) {
      if (nowMs() > endMs || this.child.exitCode !== null) throw new Error(`nothing was told within ${withinMs} ms`);
      await Promise.race([sleep(50), new Promise<void>((resolve) => (this.#onLine = resolve))]);
    }
    return JSON.parse(this.#lines.shift() ?? "") as Record<string, string>;
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    if (this.child.exitCode !== null) return;
    this.child.stdin?.end();
    await Promise.race([ended, sleep(10_000)]);
  }
}

function makeNetwork(): void {
  const run = (line: string): void => void execFileSync("sh", ["-ec", line]);
  run("mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && mkdir -p /run/netns && ip link set lo up");
  run("ip link add name bridge0 type bridge && ip link set bridge0 up");
  for (const [host, address] of Object.entries(HOSTS)) {
    run(
      `ip netns add ${host} && ip link add name to-${host} type veth peer name eth0 netns ${host} && ip link set to-${host} master bridge0 up`,
    );
    run(`nsenter --net=/run/netns/${host} sh -ec 'ip addr add ${address}/24 dev eth0; ip link set eth0 up; ip link set lo up'`);
  }
}

/** What it sends and what is sent to it goes nowhere; its own end of the cable looks as before. */
async function cut(host: Host, during: () => Promise<void>): Promise<void> {
  execFileSync("ip", ["link", "set", `to-${host}`, "nomaster"]);
  await during();
  execFileSync("ip", ["link", "set", `to-${host}`, "master", "bridge0"]);
}

function answers(): { beginMs: number; endMs: number }[] {
  const lines = readFileSync(ANSWERS, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as { beginMs: number; endMs: number });
}

function worstMs(fromMs: number): number {
  return Math.max(...answers().flatMap(({ beginMs, endMs }) => (endMs > fromMs ? [endMs - beginMs] : [])));
}

function lives(): number {
  return readWitnesses(LOGS).get("actor-0")?.length ?? 0;
}

async function main(): Promise<Seen> {
  makeNetwork();
  for (const folder of [LOGS, ...Object.keys(HOSTS).map((host) => `${TMP}/${host}`)]) mkdirSync(folder, { recursive: true });
  const head = new Running("head", { kind: "head", address: `tcp://${HOSTS.head}:7000`, directory: `${FOLDER}/head` });
  const { address = "", joinToken = "" } = await head.next();
  const nodes = (["a", "b", "c"] as const).map(
    (host) => new Running(host, { kind: "node", headAddress: address, joinToken, host: HOSTS[host] }),
  );
  const [, b] = nodes;
  const ids = await Promise.all(nodes.map((node) => node.next()));
  const driver = new Running("a", { kind: "driver", address, nodeId: ids[1]?.["nodeId"] ?? "", logs: LOGS, answers: ANSWERS });
  await driver.next();
  await sleep(1000);

  const withoutHeadMs = nowMs();
  await cut("head", () => sleep(HEAD_CUT_MS));
  await sleep(500);
  const worstWithoutHeadMs = worstMs(withoutHeadMs);
  // The links to the head are up again.
  await sleep(2000);
  await cut("b", () => sleep(SHORT_CUT_MS));
  await sleep(1500);
  const livesAfterShortCut = lives();

  let backMs = Infinity;
  await cut("b", async () => {
    const fromMs = nowMs();
    while (lives() === livesAfterShortCut && nowMs() < fromMs + BACK_WITHIN_MS) await sleep(20);
    while ((answers().at(-1)?.endMs ?? 0) < nowMs() - 200 && nowMs() < fromMs + BACK_WITHIN_MS) await sleep(20);
    backMs = (answers().at(-1)?.endMs ?? Infinity) - fromMs;
    await sleep(1000);
  });
  const last = await (b as Running).next(ENDED_WITHIN_MS).catch(() => ({ ended: "not at all" }));
  const problems = twoLives(readWitnesses(LOGS), []);
  await driver.end();
  await Promise.all(nodes.map((node) => node.end()));
  await head.end();
  const giveUpMs = nowMs() + LEFT_WITHIN_MS;
  while (leftovers().length > 0 && nowMs() < giveUpMs) await sleep(50);
  return { worstWithoutHeadMs, livesAfterShortCut, backMs, twoLives: problems, ended: last["ended"] ?? "", left: leftovers() };
}

/** This is a world of its own: whatever runs in it, or lies in its folders, is left. */
function leftovers(): string[] {
  const processes = readdirSync("/proc").filter((name) => Number(name) > 1 && isShoal(name));
  const folders = ["/dev/shm", ...Object.keys(HOSTS).map((host) => `${TMP}/${host}`)];
  const files = folders.flatMap((folder) => readdirSync(folder).filter((name) => !name.startsWith("shoal-nodes-")));
  return [...processes.map((pid) => `process ${pid}`), ...files];
}

function isShoal(pid: string): boolean {
  try {
    return (
      /^State:\s*[^ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8")) && /shoal/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"))
    );
  } catch {
    return false;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

process.stdout.write(`${JSON.stringify(await main())}\n`);
process.exit(0);
