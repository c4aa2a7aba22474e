/**
 * Runs the simulation once: a seed, a cluster, programs, faults, and the checks.
 *
 * After each event: nobody holds more than there is, and whatever `application.ts` saw. At the end, when the faults have stopped: every
 * program ends, and once everything has been dropped all resources are free, nobody waits, and no ref, value or stored byte is left. The same seed gives the same run.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settle } from "./ambient.ts";
import { Application } from "./application.ts";
import { booksOf, openBooks } from "./books.ts";
import { Cluster } from "./cluster.ts";
import { ParkedProcesses } from "./parked-processes.ts";
import { ClusterFaults, drawClusterFaults, NO_CLUSTER_FAULTS } from "./cluster-faults.ts";
import type { SimulatedNode } from "./node.ts";
import { closeAll } from "./endpoint.ts";
import { DriverProgram } from "./driver-program.ts";
import { drawFaults, Faults } from "./faults.ts";
import { MUTATIONS } from "./mutations.ts";
import { endDetachedActors } from "./parts/named-actors.ts";
import { drawParts } from "./parts/index.ts";
import { SCARCE_RESOURCES } from "./parts/scarce.ts";
import { type SimulatedProcess, World } from "./world.ts";
import type { Runtime } from "../src/core/runtime.ts";
import { Random } from "../soak/random.ts";
import type { ProcessId } from "../src/runtime/base/ids.ts";

interface SimulationOptions {
  readonly seed: number;
  /** Steps of each driver's program. */
  readonly steps: number;
  /** Parts of the programs besides tasks, actors and objects: drawn from the seed, or these (`parts/index.ts`). */
  readonly parts: "drawn" | readonly string[];
  /** Number of machines; a single one needs no separate head. */
  readonly nodes: number;
  readonly mutation: string | undefined;
  /** With the events and effects of the lease manager in the trace. */
  readonly isVerbose: boolean;
}

interface SimulationResult {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly events: number;
  readonly virtualMs: number;
  readonly tasks: number;
  readonly calls: number;
  readonly deaths: number;
  readonly fingerprint: number;
}

/** Virtual time in which programs end once faults have stopped. */
const END_WITHIN_MS = 120_000;
/** Idle leases, empty arenas and collections take seconds. */
const QUIET_WITHIN_MS = 30_000;
/**
 * A dead process has no lease any more: its own node learns so at once, others when they hear of the node's death, cuts and pauses
 * included.
 */
const LEASE_OF_DEAD_WITHIN_MS = 10_000;
const EVENTS_MAX = 400_000;
const PART_SEED = 0x5eed;
const LATER_PARTS_SEED = 0x1a7e2;
const LAST_PARTS_SEED = 0x1a57;
const JOINS_SEED = 0x1013;

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-simulation-"));
  const world = new World(options.seed, (random) => ({
    delayMaxMs: random.pick([0.5, 5, 30]),
    splits: random.pick([0, 0, 0.1]),
  }));
  const onUnhandled = (reason: unknown): void => world.violate(`a rejection was not handled: ${String((reason as Error).stack ?? reason)}`);
  process.on("unhandledRejection", onUnhandled);
  try {
    const { tasks, calls } = await runWorld(world, folder, options);
    return {
      seed: options.seed,
      violations: world.violations,
      trace: world.trace,
      events: world.steps,
      virtualMs: world.nowMs,
      tasks,
      calls,
      deaths: world.processes.filter((process) => !process.isAlive).length,
      fingerprint: world.fingerprint,
    };
  } finally {
    process.off("unhandledRejection", onUnhandled);
    rmSync(folder, { recursive: true, force: true });
  }
}

function leaseLine(event: object, effects: readonly object[], names: ReadonlyMap<string, string>): string {
  const text = (value: object): string =>
    JSON.stringify(value, (key, inner: unknown) =>
      key === "spec" || key === "placement" ? (inner as { key: string }).key : inner,
    ).replace(/[0-9a-f]{32}/g, (id) => names.get(id) ?? id);
  return [event, ...effects].map(text).join(" -> ");
}

async function runWorld(world: World, folder: string, options: SimulationOptions): Promise<{ tasks: number; calls: number }> {
  const names = new Map<string, string>();
  const processes = new Map<string, SimulatedProcess>();
  closeAll();
  const parkedProcesses = new ParkedProcesses(
    (node) => cluster.nodes.find(({ process }) => process === node)?.resources["CPU"] ?? 1,
    () => watchesMemory,
    (text) => world.violate(text),
  );
  openBooks({
    ...(options.mutation === undefined ? {} : MUTATIONS[options.mutation]?.()),
    onLeaseEvent: (event, effects) => {
      if (options.isVerbose) world.say("leases", leaseLine(event, effects, names));
      parkedProcesses.see(event, effects);
    },
    ...(options.isVerbose ? { onCount: (change) => world.say("refs", leaseLine(change, [], names)) } : {}),
  });
  const random = world.random.fork();
  // The parts have a separate random source, so that a seed means the same with and without them.
  const partRandom = new Random(options.seed ^ PART_SEED);
  const parts: readonly string[] =
    options.parts === "drawn"
      ? drawParts(partRandom, { later: new Random(options.seed ^ LATER_PARTS_SEED), last: new Random(options.seed ^ LAST_PARTS_SEED) })
      : options.parts;
  if (parts.length > 0) world.say("program", `uses ${parts.join(", ")}`);
  const scarce = parts.includes("scarce") ? SCARCE_RESOURCES : {};
  const resources = { CPU: random.pick([1, 2, 2, 4]), slot: 1, ...(parts.includes("memory") ? { memory: 1e9 } : {}), ...scarce };
  const plan = drawFaults(random);
  const failedStarts = plan.kills > 0 ? random.pick([0, 0, 0.3]) : 0;
  // A worker that is ended for its memory, or with force, takes along waiting calls that must not run twice.
  const endsWorkers = ["memory", "cancellations", "outbox"].some((part) => parts.includes(part));
  const watchesMemory = parts.includes("memory");
  const nodes = Array.from({ length: options.nodes }, (_, index) =>
    index === 0 ? resources : { ...resources, CPU: partRandom.pick([1, 2, 4]) },
  );
  const hasOutboxes = parts.includes("outbox");
  const hasGuards = hasOutboxes || parts.includes("retirements");
  if (hasGuards) world.joins = new Random(options.seed ^ JOINS_SEED).pick([0, 0.1, 0.5]);
  const storeBytes = 64 * 1024 * 1024;
  const cluster = new Cluster(world, { folder, resources, nodes, storeBytes, failedStarts, watchesMemory, hasOutboxes, hasGuards });
  const app = new Application(world, new Map(cluster.nodes.map((node) => [node.process.machine, node.resources])));
  app.isOverdrawn = (process) => {
    const isWithoutCpu = (id: ProcessId): boolean =>
      parkedProcesses.isOverdrawn(id) || cluster.nodes.some((node) => booksOf(node.process).leases?.hasBorrowed(id) === true);
    return Array.from(processes).some(([id, worker]) => worker === process && isWithoutCpu(id as ProcessId));
  };
  const faults = new Faults(world, cluster, { random: random.fork(), plan });
  const clusterPlan = options.nodes > 1 || parts.length > 0 ? drawClusterFaults(partRandom.fork(), options.nodes) : NO_CLUSTER_FAULTS;
  const clusterFaults =
    options.nodes > 1 || parts.length > 0
      ? new ClusterFaults(world, cluster, {
          random: partRandom.fork(),
          plan: clusterPlan,
          sparesNode: hasOutboxes && options.nodes === 1,
          onBroken: (one, other) => app.connectionBroke(one, other),
        })
      : undefined;
  world.onStep = (process) => {
    faults.after(process);
    clusterFaults?.after(process);
    for (const node of cluster.nodes) if (node.isAlive) checkBooks(world, node, processes);
  };
  for (const node of cluster.nodes) names.set(node.daemonId, node.process.name);
  cluster.onSpawned = (id, worker) => {
    names.set(id, worker.name);
    processes.set(id, worker);
  };
  cluster.onUnread = (worker, unread) =>
    app.rests.found(worker, unread, (reader) => {
      const process = processes.get(reader);
      const runtime = process?.runtime as Runtime | undefined;
      return process === undefined || runtime === undefined ? undefined : { process, prefix: runtime.options.ids.prefix };
    });
  cluster.start();
  const driverCount = random.pick([1, 1, 2, 3]);
  const programs: DriverProgram[] = [];
  for (let index = 0; index < driverCount; index += 1) {
    const driver = cluster.addDriver(`d${index}`, index === 0 ? cluster.nodes[0] : partRandom.pick(cluster.nodes));
    const program = new DriverProgram(app, driver, {
      random: random.fork(),
      expects: {
        hasFaults: plan.kills > 0 || endsWorkers || clusterPlan.rate > 0,
        hasLargeValues: true,
      },
      parts,
      partRandom: partRandom.fork(),
    });
    programs.push(program);
    names.set(driver.runtime.options.processId, driver.process.name);
    processes.set(driver.runtime.options.processId, driver.process);
    driver.process.schedule(random.next() * 50, () => void program.run(options.steps));
  }
  const isOver = (): boolean => programs.every((program, index) => program.isOver || cluster.drivers[index]?.process.isAlive === false);
  let ended = await world.run({ untilMs: 20_000, steps: EVENTS_MAX, isOver });
  faults.stop();
  clusterFaults?.stop();
  if (ended !== "over") ended = await world.run({ untilMs: world.nowMs + END_WITHIN_MS, steps: EVENTS_MAX, isOver });
  if (ended !== "over") {
    const waiting = programs
      .filter((_, index) => cluster.drivers[index]?.process.isAlive)
      .flatMap((program) => Array.from(program.waiting));
    world.violate(
      `the programs have not ended (${ended}) after ${Math.round(world.nowMs)} ms; they wait for ${waiting.join(", ") || "nothing"}`,
    );
  }
  const hasNode = cluster.drivers[0]?.hasLostNode === false;
  if (world.violations.length === 0 && hasNode && parts.includes("actors")) await endDetached(world, cluster, app);
  if (world.violations.length === 0) await quieten(world, cluster);
  const streams = world.violations.length === 0 ? app.openStreams : [];
  for (const { key, process } of streams) if (process.isAlive) world.violate(`stream ${key} was never ended in ${process.name}`);
  return { tasks: app.tasksRun, calls: app.callsRun };
}

async function endDetached(world: World, cluster: Cluster, app: Application): Promise<void> {
  const [driver] = cluster.drivers;
  let isOver = false;
  driver?.process.schedule(0, () => {
    endDetachedActors(app).then(
      () => {
        isOver = true;
      },
      (error: unknown) => world.violate(`detached actors cannot be ended: ${String((error as Error).stack)}`),
    );
  });
  await world.run({ untilMs: world.nowMs + END_WITHIN_MS, steps: EVENTS_MAX, isOver: () => isOver });
  if (!isOver) world.violate("detached actors were not ended");
}

function checkBooks(world: World, node: SimulatedNode, processes: ReadonlyMap<string, SimulatedProcess>): void {
  const { leases } = booksOf(node.process);
  if (leases === undefined) return;
  const { free, total } = leases.view();
  for (const [name, units] of free) {
    if (units < 0 || units > (total.get(name) ?? 0))
      world.violate(`${units} of ${total.get(name) ?? 0} units of ${name} are free on ${node.process.name}`);
  }
  const longDeadMs = world.nowMs - LEASE_OF_DEAD_WITHIN_MS;
  for (const { id, worker, owner } of leases.leases()) {
    const dead = [processes.get(worker), processes.get(owner)].find((process) => process !== undefined && process.diedMs < longDeadMs);
    if (dead !== undefined)
      world.violate(`lease ${id} on ${node.process.name} is of ${dead.name}, which died at ${dead.diedMs.toFixed(0)} ms`);
  }
}

function leftOn(node: SimulatedNode): string[] {
  const found: string[] = [];
  const { name } = node.process;
  const { leases, refs, values, known, store } = booksOf(node.process);
  if (leases !== undefined) {
    const { total, free } = leases.view();
    for (const [resource, units] of total)
      if (free.get(resource) !== units) found.push(`${free.get(resource)} of ${units} units of ${resource} are free on ${name}`);
    if (leases.leases().length > 0) found.push(`${leases.leases().length} leases are left on ${name}`);
    if (leases.waiting().length > 0) found.push(`${leases.waiting().length} demands are left on ${name}`);
  }
  if ((refs?.size ?? 0) > 0) found.push(`${refs?.size} refs are counted on ${name}`);
  if ((values?.size ?? 0) > 0) found.push(`${values?.size} values are kept on ${name}`);
  if ((known?.size ?? 0) > 0) found.push(`${known?.size} values of others are kept on ${name}`);
  if (store !== undefined && store.usedBytes > 0) found.push(`${store.usedBytes} bytes are stored on ${name}`);
  return found;
}

/** Everything has been dropped: the daemon's last returns arrive. */
async function quieten(world: World, cluster: Cluster): Promise<void> {
  const left = (): string[] => {
    const found = cluster.liveNodes.flatMap((node) => leftOn(node));
    for (const { process, runtime, hasLostNode } of cluster.drivers) {
      if (process.isAlive && !hasLostNode && runtime.table.publishedCount > 0)
        found.push(`${process.name} has ${runtime.table.publishedCount} refs`);
    }
    return found;
  };
  const endMs = world.nowMs + QUIET_WITHIN_MS;
  for (let round = 0; round < 30 && world.violations.length === 0; round += 1) {
    // Leftovers of tasks are collected, as the real collector would do some time.
    for (const process of world.processes) if (process.isAlive) process.run(() => process.finalizers.collectAll());
    await settle();
    const untilMs = world.nowMs + 1000;
    await world.run({ untilMs, steps: EVENTS_MAX, isOver: () => false });
    if (left().length === 0) return;
    if (world.nowMs > endMs) break;
  }
  for (const text of left()) world.violate(`at the end ${text}`);
}
