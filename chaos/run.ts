/**
 * Runs one chaos run: a cluster, a driver's work and faults from a seed, then the checks.
 *
 * Checks of actors read the actors' own files (`witness.ts`), and leftovers are looked for in the machine (`processes.ts`). Shoal's own
 * word is not believed, except for the values and errors that a user's program sees.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { type ActorHandle, get, init, put, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { Random } from "../soak/random.ts";
import { nowMs } from "./clock.ts";
import { type Fault, type FaultKind, Faults } from "./faults.ts";
import { Gaps } from "./gaps.ts";
import { clusterProcesses, signal } from "./processes.ts";
import { type WaitedMs, livesAfterKill, twoLives, worstRecovery, wrongCalls } from "./checks.ts";
import { ChaosNats } from "./nats.ts";
import { DRIVER, ProcessorWaits } from "./processor-waits.ts";
import { readWitnesses } from "./witness.ts";
import { SCARCE, Workload } from "./workload.ts";

interface ChaosSettings {
  readonly faults: number;
  readonly seed: number;
  readonly kinds: readonly FaultKind[];
  readonly pauseMaxMs: number;
  /** Servers of NATS under the head: 0, or 1, or 3 with TLS. */
  readonly nats: 0 | 1 | 3;
  /** More than one takes over from each other, on NATS. */
  readonly heads?: number | undefined;
  readonly print: (line: string) => void;
}

interface ChaosReport {
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
/** Calls notice a missing head until this long after its return. */
const AFTERMATH_MS = 500;
const RUN = "SHOAL_CHAOS_RUN";
/** Faults of which calls between nodes that are not part of them must notice nothing. */
const UNNOTICED: readonly FaultKind[] = ["kill head", "stop head", "kill NATS", "stop NATS", "kill all NATS", "stop all NATS"];
/** So small that a few large results fill it. */
const STORE_BYTES = 64 * 1024 * 1024;

class Box {
  /** With the process in which it is. */
  pass(value: number): [value: number, pid: number] {
    return [value, process.pid];
  }
  make(value: number): { ref: PromiseLike<number> } {
    return { ref: put(value) };
  }
  async passOn(to: ActorHandle<Box>, value: number): Promise<number> {
    const [passed] = await to.pass.remote(value);
    return passed;
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
  // The folder travels to the nodes, so nothing may change in it meanwhile.
  const program = join(folder, "program");
  mkdirSync(program);
  const random = new Random(settings.seed);
  const printed: string[] = [];
  const nats = settings.nats === 0 ? undefined : await ChaosNats.start(folder, settings.nats);
  const offer = { numCpus: 2, ...SCARCE, objectStoreMemoryBytes: STORE_BYTES };
  const cluster = await TestCluster.start({
    head: offer,
    heads: settings.heads,
    nats: nats?.access,
    onLine: (line) => void printed.push(line),
  });
  const places = new Set<string>();
  const gaps = new Gaps();
  const probes = new Probes(gaps, () => cluster.nodes[0]?.pid ?? 0);
  const waits = new ProcessorWaits(mark);
  try {
    const addNode = async (): Promise<TestNode> => {
      const node = await cluster.addNode(offer);
      for (const place of placesOf(cluster.address)) places.add(place);
      probes.add(node);
      return node;
    };
    await init({ address: cluster.address, logToDriver: false, runtimeEnv: { workingDir: program } });
    while (cluster.nodes.length < NODES) await addNode();
    for (const place of placesOf(cluster.address)) places.add(place);
    const workload = new Workload({ folder: logs, random: random.fork(), onProblem });
    await workload.start();
    const { kinds, pauseMaxMs } = settings;
    const fillStore = (node: TestNode): Promise<void> => workload.fillStore(node);
    const waitedMs = (fromMs: number, toMs: number): number => waits.ofAll(fromMs, toMs);
    const seeded = { random: random.fork(), kinds, pauseMaxMs, nodes: NODES };
    const faults = new Faults({ ...seeded, cluster, nats, mark, addNode, fillStore, waitedMs });
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
    await workload.checkKept();
    gaps.stop();
    const witnesses = readWitnesses(logs);
    const { promised } = workload;
    for (const problem of twoLives(witnesses, faults.done)) onProblem(problem);
    for (const problem of wrongCalls(witnesses, promised)) onProblem(problem);
    for (const problem of livesAfterKill(witnesses, promised, faults.done)) onProblem(problem);
    const gap = worstGap(faults.done, gaps, { print: settings.print, onProblem, waitedMs: (...of) => waits.of(...of) });
    if (gap.ms > GAP_MAX_MS) onProblem(`a call took ${gap.ms.toFixed(0)} ms (${gap.name}) during "${gap.during}"`);
    const recovery = worstRecovery(witnesses, faults.done, { promised, waitedMs: (...of) => waits.of(...of) });
    const recovered = `${recovery.ms.toFixed(0)} ms and ${recovery.waitedMs.toFixed(0)} ms of waiting for a processor`;
    if (recovery.ms > RECOVERY_MAX_MS) onProblem(`${recovery.actor} was back only ${recovered} after its node was killed`);
    await workload.letGo(FREE_WITHIN_MS);
    await shutdown();
    await cluster.shutdown();
    await nats?.close();
    await checkLeftovers({ mark, places, onProblem });
    return {
      problems,
      summary: [
        `faults: ${countsOf(faults.done)}`,
        `work: ${workload.ended} pieces, ${workload.failedByFaults} calls that may run once failed by faults, ${workload.named.length} named actors kept, ${workload.killed.length} killed`,
        `actors: ${witnesses.size}, with ${Array.from(witnesses.values(), (all) => all.length).reduce((sum, each) => sum + each, 0)} incarnations, ${Array.from(promised.answered.values(), ({ size }) => size).reduce((sum, each) => sum + each, 0)} calls answered`,
        `worst gap of calls and gets without a head or NATS: ${gap.ms.toFixed(0)} ms (${gap.name}) in ${gap.watched} series`,
        `worst time until an actor of a killed node answered elsewhere: ${recovered} (${recovery.count} actors)`,
      ],
    };
  } finally {
    gaps.stop();
    waits.stop();
    await shutdown().catch(() => {});
    await cluster.shutdown().catch(() => {});
    await nats?.close();
    for (const { pid } of clusterProcesses(mark)) signal(pid, "SIGKILL");
    delete process.env[RUN];
    if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
    else {
      settings.print(`what the actors wrote is in ${folder}`);
      for (const line of printed.slice(-20)) settings.print(`a process of the cluster printed: ${line}`);
    }
  }
}

/** Calls from the driver to an actor of each node, from there to one of the next node, and gets of their results. */
class Probes {
  readonly #gaps: Gaps;
  readonly #home: () => number;
  #last: { box: ActorHandle<Box>; pid: number; through: () => number[] } | undefined;

  /** @param home the process of the driver's daemon */
  constructor(gaps: Gaps, home: () => number) {
    this.#gaps = gaps;
    this.#home = home;
  }

  add({ nodeId, pid }: TestNode): void {
    // A call that waits for the box of a dead node must not delay others.
    const box = remote(Box)
      .options({ numCpus: 0, maxConcurrency: 16, maxRestarts: -1, schedulingStrategy: { nodeId, soft: false } })
      .remote();
    const last = this.#last;
    let asked = 0;
    let worker = 0;
    const through = (): number[] => [DRIVER, this.#home(), pid, worker];
    this.#last = { box, pid, through };
    const call = async (): Promise<void> => {
      asked += 1;
      const value = asked;
      const [passed, process] = await box.pass.remote(value);
      if (passed !== value) throw new Error("a wrong value");
      worker = process;
    };
    const getMade = async (): Promise<void> => {
      asked += 1;
      const value = asked;
      const { ref } = await box.make.remote(value);
      if ((await ref) !== value) throw new Error("a wrong value");
    };
    // Creating a box needs the head and may wait for it; a running box may not.
    call().then(
      () => {
        this.#gaps.watch(`calls to ${pid}`, call, through);
        this.#gaps.watch(`gets from ${pid}`, getMade, through);
        if (last === undefined) return;
        const throughBoth = (): number[] => Array.from(new Set([...through(), ...last.through()]));
        this.#gaps.watch(`calls of ${pid} to ${last.pid}`, () => get(box.passOn.remote(last.box, 1)), throughBoth);
      },
      () => {},
    );
  }
}

function worstGap(
  faults: readonly Fault[],
  gaps: Gaps,
  { print, onProblem, waitedMs }: { print: (line: string) => void; onProblem: (problem: string) => void; waitedMs: WaitedMs },
): { name: string; ms: number; during: string; watched: number } {
  let worst = { name: "none", ms: 0, during: "nothing" };
  let watched = 0;
  for (const { kind, beginMs, endMs } of faults) {
    if (!UNNOTICED.includes(kind)) continue;
    const found = gaps.worst(beginMs, endMs + AFTERMATH_MS, waitedMs);
    watched += found.watched;
    if (found.ms > 100)
      print(
        `gap of ${found.ms.toFixed(0)} ms in ${found.name}, ${Math.round(found.beginMs - beginMs)} ms after the begin of "${kind}", with the machine late by ${found.machineMs.toFixed(0)} ms`,
      );
    for (const name of found.failed) onProblem(`a call of ${name} failed during "${kind}"`);
    if (found.ms > worst.ms) worst = { name: found.name, ms: found.ms, during: kind };
  }
  if (watched === 0 && faults.some(({ kind }) => UNNOTICED.includes(kind))) onProblem("nobody was asked while the head or NATS was away");
  return { ...worst, watched };
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
