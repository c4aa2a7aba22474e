/**
 * One chaos run: a cluster, a driver's work and faults from a seed, and what must hold afterwards.
 *
 * What is checked of actors is read from their own files (`witness.ts`); what is left behind is looked for in the machine (`processes.ts`). Nothing is
 * believed because Shoal says so, but for what a user's program sees: its values and errors.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { get, init, put, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { Random } from "../soak/random.ts";
import { nowMs } from "./clock.ts";
import { type Fault, type FaultKind, Faults } from "./faults.ts";
import { Gaps } from "./gaps.ts";
import { clusterProcesses, signal } from "./processes.ts";
import { type Incarnation, readWitnesses, secondLives, worstOverlapMs } from "./witness.ts";
import { Workload } from "./workload.ts";

export interface ChaosSettings {
  readonly faults: number;
  readonly seed: number;
  readonly kinds: readonly FaultKind[];
  readonly pauseMaxMs: number;
  readonly print: (line: string) => void;
}

export interface ChaosReport {
  readonly problems: readonly string[];
  readonly summary: readonly string[];
}

const NODES = 4;
const BETWEEN_FAULTS_MS = 500;
const LAST_WORK_WITHIN_MS = 60_000;
const FREE_WITHIN_MS = 20_000;
const GONE_WITHIN_MS = 10_000;
/** The bars. */
const GAP_MAX_MS = 250;
const RECOVERY_MAX_MS = 5000;
/** What calls notice of a head that is away, they notice within this after it, too. */
const AFTERMATH_MS = 500;
const RUN = "SHOAL_CHAOS_RUN";
/** Faults of which calls between nodes that are not part of them must notice nothing. */
const UNNOTICED: readonly FaultKind[] = ["kill head", "stop head", "kill NATS", "stop NATS"];

class Box {
  pass(value: number): number {
    return value;
  }
  make(value: number): { ref: PromiseLike<number> } {
    return { ref: put(value) };
  }
}

export async function runChaos(settings: ChaosSettings): Promise<ChaosReport> {
  const problems: string[] = [];
  const onProblem = (problem: string): void => {
    problems.push(problem);
    settings.print(`PROBLEM: ${problem}`);
  };
  const folder = mkdtempSync(join(tmpdir(), "shoal-chaos-"));
  const mark = `${RUN}=${folder}`;
  process.env[RUN] = folder;
  const logs = join(folder, "witnesses");
  mkdirSync(logs);
  const random = new Random(settings.seed);
  const printed: string[] = [];
  const cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: (line) => void printed.push(line) });
  const places = new Set<string>();
  const gaps = new Gaps();
  try {
    const addNode = async (): Promise<TestNode> => {
      const node = await cluster.addNode({ numCpus: 2 });
      for (const place of placesOf(cluster.address)) places.add(place);
      probe(gaps, node);
      return node;
    };
    await init({ address: cluster.address, logToDriver: false, runtimeEnv: { workingDir: folder } });
    while (cluster.nodes.length < NODES) await addNode();
    for (const place of placesOf(cluster.address)) places.add(place);
    const workload = new Workload({ folder: logs, random: random.fork(), onProblem });
    await workload.start();
    const { kinds, pauseMaxMs } = settings;
    const faults = new Faults({ cluster, mark, random: random.fork(), kinds, pauseMaxMs, addNode });
    const beginMs = nowMs();
    while (faults.done.length < settings.faults && problems.length < 50) {
      const { kind, detail, beginMs: atMs, endMs } = await faults.inject();
      settings.print(
        `${((atMs - beginMs) / 1000).toFixed(1)} s: ${kind} (${detail}), healed after ${(endMs - atMs).toFixed(0)} ms; ${workload.ended} done, ${workload.failedByFaults} failed by faults`,
      );
      await sleep(BETWEEN_FAULTS_MS);
    }
    for (const open of await workload.finish(LAST_WORK_WITHIN_MS))
      onProblem(`${open} had not ended ${LAST_WORK_WITHIN_MS / 1000} s after the last fault`);
    await workload.checkNamed();
    gaps.stop();
    const witnesses = readWitnesses(logs);
    for (const problem of secondLives(witnesses)) onProblem(problem);
    const gap = worstGap(faults.done, gaps, settings.print);
    if (gap.ms > GAP_MAX_MS) onProblem(`a call took ${gap.ms.toFixed(0)} ms (${gap.name}) during "${gap.during}"`);
    const recovery = worstRecovery(faults.done, witnesses);
    if (recovery.ms > RECOVERY_MAX_MS) onProblem(`${recovery.actor} was back only ${recovery.ms.toFixed(0)} ms after its node was killed`);
    await workload.letGo(FREE_WITHIN_MS);
    await shutdown();
    await cluster.shutdown();
    await checkLeftovers({ mark, places, onProblem });
    return {
      problems,
      summary: [
        `faults: ${countsOf(faults.done)}`,
        `work: ${workload.ended} pieces, ${workload.failedByFaults} errors that faults explain, ${workload.named.length} named actors`,
        `actors: ${witnesses.size}, with ${Array.from(witnesses.values(), (all) => all.length).reduce((sum, each) => sum + each, 0)} incarnations; signs of life of an older one after a newer began: ${worstOverlapMs(witnesses).toFixed(0)} ms at most`,
        `worst gap of calls and gets without a head or NATS: ${gap.ms.toFixed(0)} ms (${gap.name})`,
        `worst time until an actor of a killed node answered elsewhere: ${recovery.ms.toFixed(0)} ms (${recovery.count} actors)`,
      ],
    };
  } finally {
    gaps.stop();
    await shutdown().catch(() => {});
    await cluster.shutdown().catch(() => {});
    for (const { pid } of clusterProcesses(mark)) signal(pid, "SIGKILL");
    delete process.env[RUN];
    if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
    else {
      settings.print(`what the actors wrote is in ${folder}`);
      for (const line of printed.slice(-20)) settings.print(`a process of the cluster printed: ${line}`);
    }
  }
}

/** Calls to an actor of the node, and gets of what it made. */
function probe(gaps: Gaps, node: TestNode): void {
  const box = remote(Box)
    .options({ numCpus: 0, schedulingStrategy: { nodeId: node.nodeId, soft: false } })
    .remote();
  let asked = 0;
  const ask = async (): Promise<void> => {
    asked += 1;
    const { ref } = await box.make.remote(asked);
    if ((await get([box.pass.remote(asked), ref as never])).some((value) => value !== asked)) throw new Error("a wrong value");
  };
  // Its creation is the head's business and may wait for it; what runs may not.
  ask().then(
    () => gaps.watch(String(node.pid), ask),
    () => {},
  );
}

function worstGap(faults: readonly Fault[], gaps: Gaps, print: (line: string) => void): { name: string; ms: number; during: string } {
  let worst = { name: "none", ms: 0, during: "nothing" };
  for (const { kind, beginMs, endMs } of faults) {
    if (!UNNOTICED.includes(kind)) continue;
    const found = gaps.worst(beginMs, endMs + AFTERMATH_MS);
    if (found.ms > 100) print(`gap of ${found.ms.toFixed(0)} ms at ${found.name} during "${kind}"`);
    if (found.ms > worst.ms) worst = { ...found, during: kind };
  }
  return worst;
}

/** From the death of a node to the first answer of each of its actors elsewhere, or to its beginning. */
function worstRecovery(
  faults: readonly Fault[],
  witnesses: ReadonlyMap<string, readonly Incarnation[]>,
): { actor: string; ms: number; count: number } {
  let worst = { actor: "none", ms: 0 };
  let count = 0;
  for (const { kind, beginMs, daemons } of faults) {
    if (kind !== "kill node") continue;
    for (const [actor, incarnations] of witnesses) {
      const index = incarnations.findIndex(({ daemon }) => daemons.includes(daemon));
      const next = index < 0 || (incarnations[index]?.lastMs ?? 0) < beginMs - 1000 ? undefined : incarnations[index + 1];
      if (next === undefined) continue;
      // Named ones are called again only at the end.
      const answeredMs = actor.startsWith("named") ? next.startMs : (next.calls[0]?.endMs ?? Infinity);
      count += 1;
      if (answeredMs - beginMs > worst.ms) worst = { actor, ms: answeredMs - beginMs };
    }
  }
  return { ...worst, count };
}

function countsOf(faults: readonly Fault[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of faults) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return Array.from(counts, ([kind, count]) => `${count} x ${kind}`).join(", ");
}

/** The folders of the cluster's nodes on this machine, as the nodes tell drivers. */
function placesOf(address: string): string[] {
  const nodes = join(tmpdir(), `shoal-nodes-${userInfo().uid}`);
  const places: string[] = [];
  for (const name of existsSync(nodes) ? readdirSync(nodes) : []) {
    const file = join(nodes, name);
    const node = JSON.parse(readFileSync(file, "utf8")) as {
      clusterAddress: string;
      socket: string;
      memoryDirectory: string;
      spillDirectory: string;
    };
    if (node.clusterAddress === address) places.push(file, dirname(node.socket), node.memoryDirectory, node.spillDirectory);
  }
  return places;
}

async function checkLeftovers(options: { mark: string; places: ReadonlySet<string>; onProblem: (problem: string) => void }): Promise<void> {
  const { mark, places, onProblem } = options;
  const leftovers = (): string[] => [
    ...clusterProcesses(mark).map(({ pid, kind }) => `${kind} process ${pid}`),
    ...Array.from(places).filter(existsSync),
  ];
  const end = nowMs() + GONE_WITHIN_MS;
  while (leftovers().length > 0 && nowMs() < end) await sleep(100);
  for (const what of leftovers()) onProblem(`left behind: ${what}`);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
