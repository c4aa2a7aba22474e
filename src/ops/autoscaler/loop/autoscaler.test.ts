/**
 * The autoscaler's loop in a made-up world with its own time: providers that are slow, lose answers, lag, refuse and hang; nodes that die;
 * autoscalers that die at any step, or sleep while another acts. Hundreds of seeds.
 */
import { describe, expect, test } from "vitest";
import type { DurableTable } from "../../../runtime/extension/extension.ts";
import type { ClusterConfig } from "../config/cluster-config.ts";
import { type Instance, INSTANCE_LABEL, isEnded } from "../instances/instance.ts";
import { type AutoscalerState, InstanceTable } from "../instances/instance-table.ts";
import type { SnapshotNode } from "../plan/snapshot.ts";
import type { LaunchAnswer, LaunchRequest, NodeProvider, ProviderNode } from "../provider.ts";
import { Autoscaler } from "./autoscaler.ts";
import { FencedOutError, type HeadPort } from "./ports.ts";

const TICK_MS = 500;
const IDLE_MS = 20_000;
const CPUS = 4;

/** A generator of numbers from 0 to 1 (xorshift). */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const table = <T>(): DurableTable<T> => new Map<string, T>();

interface Machine {
  readonly id: string;
  readonly type: string;
  readonly joinsAtMs: number;
  state: "pending" | "running" | "gone";
  idleSinceMs: number | undefined;
  isDraining: boolean;
  tasks: { endsAtMs: number }[];
}

interface Faults {
  readonly launchMs: number;
  readonly joinMs: number;
  readonly refusals: number;
  readonly lostAnswers: number;
  readonly lagMs: number;
  readonly listFailures: number;
  readonly hangs: number;
  readonly deaths: number;
  /** How often the autoscaler dies, or sleeps for a while. */
  readonly crashes: number;
}

const CONFIG: ClusterConfig = {
  clusterName: "sim",
  maxWorkers: 12,
  upscalingSpeed: 10,
  provider: { type: "external", config: {} },
  headNodeType: "head",
  head: { resources: {}, labels: {} },
  nodeTypes: [
    { name: "a", resources: { CPU: CPUS }, labels: {}, minWorkers: 1, maxWorkers: 6, idleTimeoutMs: IDLE_MS, priority: 1, nodeConfig: {} },
    { name: "b", resources: { CPU: CPUS }, labels: {}, minWorkers: 0, maxWorkers: 8, idleTimeoutMs: IDLE_MS, priority: 0, nodeConfig: {} },
  ],
};

/** A cluster, its head and its provider, which move when time does. */
class World {
  nowMs = 1_000_000;
  waiting = 0;
  readonly violations: string[] = [];
  readonly machines = new Map<string, Machine>();
  readonly instances = table<Instance>();
  readonly #table = new InstanceTable({ instances: this.instances, states: table<AutoscalerState>() }, { actsForMs: 15_000 });
  readonly #random: () => number;
  readonly #faults: Faults;
  readonly #created = new Map<string, number>();
  #later: { atMs: number; body: () => void }[] = [];
  #history: { atMs: number; list: ProviderNode[] }[] = [];

  constructor(random: () => number, faults: Faults) {
    this.#random = random;
    this.#faults = faults;
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  tick(): void {
    this.nowMs += TICK_MS;
    const due = this.#later.filter(({ atMs }) => atMs <= this.nowMs);
    this.#later = this.#later.filter(({ atMs }) => atMs > this.nowMs);
    for (const { body } of due) body();
    for (const machine of this.machines.values()) {
      if (machine.state === "pending" && machine.joinsAtMs <= this.nowMs) {
        machine.state = "running";
        machine.idleSinceMs = this.nowMs;
      }
      if (machine.state !== "running") continue;
      if (this.chance(this.#faults.deaths)) this.#die(machine);
      machine.tasks = machine.tasks.filter(({ endsAtMs }) => endsAtMs > this.nowMs);
      while (!machine.isDraining && this.waiting > 0 && machine.tasks.length < CPUS) {
        this.waiting -= 1;
        machine.tasks.push({ endsAtMs: this.nowMs + 1_000 + this.#random() * 10_000 });
      }
      if (machine.tasks.length > 0) machine.idleSinceMs = undefined;
      else machine.idleSinceMs ??= this.nowMs;
      if (machine.isDraining && machine.tasks.length === 0) machine.state = "gone";
    }
    this.#history.push({ atMs: this.nowMs, list: this.#list() });
    if (this.#history.length > 40) this.#history.shift();
    const existing = Array.from(this.machines.values()).filter(({ state }) => state !== "gone").length;
    if (existing > CONFIG.maxWorkers) this.violations.push(`${existing} machines exist`);
  }

  get nodes(): SnapshotNode[] {
    return Array.from(this.machines.values()).flatMap((machine) => {
      if (machine.state !== "running") return [];
      const free = { CPU: CPUS - machine.tasks.length };
      const idleMs = machine.idleSinceMs === undefined ? undefined : this.nowMs - machine.idleSinceMs;
      const state = machine.isDraining ? ("draining" as const) : ("alive" as const);
      return [{ nodeId: `node-${machine.id}`, state, labels: { [INSTANCE_LABEL]: machine.id }, total: { CPU: CPUS }, free, idleMs }];
    });
  }

  get head(): HeadPort {
    return {
      acquire: async (owner) => this.#table.acquire(owner, this.nowMs),
      commit: async (fence, steps) => {
        try {
          this.#table.commit(fence, steps, this.nowMs);
        } catch (error) {
          throw new FencedOutError((error as Error).message);
        }
        return 1;
      },
      instances: async () => this.#table.page("", 10_000),
      configText: async () => "",
      ensureConfig: async () => {},
      demand: async () => ({
        nodes: this.nodes,
        waiting: this.waiting > 0 ? [["CPU:10000", this.waiting] as const] : [],
        groups: [],
        isComplete: true,
      }),
      requested: async () => [],
      drain: async (nodeId) => {
        const machine = this.machines.get(nodeId.replace("node-", ""));
        if (machine === undefined || machine.state !== "running") return undefined;
        if (machine.tasks.length > 0) return "it is not idle";
        machine.isDraining = true;
        return undefined;
      },
      tell: async () => {},
      report: async () => {},
      joinToken: async () => "secret",
    };
  }

  get provider(): NodeProvider {
    return {
      check: () => {},
      list: () => this.#answer(200, () => this.#seenList(), this.#faults.listFailures),
      launch: (wanted) => this.#launch(wanted),
      terminate: (ids) => this.#answer(500, () => this.#terminate(ids), this.#faults.listFailures),
      close: async () => {},
    };
  }

  #answer<T>(afterMs: number, answer: () => T, failures: number): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.chance(this.#faults.hangs)) return;
      const isFailed = this.chance(failures);
      const body = (): void => (isFailed ? reject(new Error("the provider is busy")) : resolve(answer()));
      this.#later.push({ atMs: this.nowMs + afterMs, body });
    });
  }

  #launch(wanted: readonly LaunchRequest[]): Promise<LaunchAnswer[]> {
    const isLost = this.chance(this.#faults.lostAnswers);
    const answered = this.#answer(
      this.#faults.launchMs * this.#random(),
      () =>
        wanted.map(({ instanceId, type }) => {
          if (this.machines.has(instanceId)) return { instanceId };
          if (this.chance(this.#faults.refusals)) return { instanceId, cause: "capacity" as const, message: "no machine is left" };
          this.#create(instanceId, type);
          return { instanceId };
        }),
      0,
    );
    return isLost ? answered.then(() => Promise.reject(new Error("the connection was lost"))) : answered;
  }

  #create(id: string, type: string): void {
    const created = (this.#created.get(id) ?? 0) + 1;
    this.#created.set(id, created);
    if (created > 1) this.violations.push(`${id} was launched ${created} times`);
    const joinsAtMs = this.nowMs + this.#faults.joinMs * this.#random();
    this.machines.set(id, { id, type, joinsAtMs, state: "pending", idleSinceMs: undefined, isDraining: false, tasks: [] });
  }

  #terminate(ids: readonly string[]): void {
    for (const id of ids) {
      const machine = this.machines.get(id);
      if (machine === undefined) continue;
      if (machine.state === "running" && machine.tasks.length > 0) this.violations.push(`${id} was ended with work on it`);
      machine.state = "gone";
    }
  }

  #die(machine: Machine): void {
    this.waiting += machine.tasks.length;
    machine.tasks = [];
    machine.state = "gone";
  }

  #list(): ProviderNode[] {
    return Array.from(this.machines.values()).flatMap(({ id, type, state }) =>
      state === "gone" ? [] : [{ instanceId: id, providerId: `p-${id}`, type, state }],
    );
  }

  #seenList(): ProviderNode[] {
    const seen = this.#history.findLast(({ atMs }) => atMs <= this.nowMs - this.#faults.lagMs);
    return seen?.list ?? [];
  }
}

const CALM: Faults = {
  launchMs: 2_000,
  joinMs: 5_000,
  refusals: 0,
  lostAnswers: 0,
  lagMs: 0,
  listFailures: 0,
  hangs: 0,
  deaths: 0,
  crashes: 0,
};

function made(world: World, owner = "one"): Autoscaler {
  let names = 0;
  const prefix = Math.floor(world.nowMs).toString(36);
  return new Autoscaler({
    owner,
    configText: "",
    readConfig: () => CONFIG,
    provider: world.provider,
    start: { command: [], env: {} },
    ports: {
      head: world.head,
      nowMs: () => world.nowMs,
      log: () => {},
      wake: () => {},
      newName: () => {
        names += 1;
        return `${owner}-${prefix}-${names}`;
      },
    },
  });
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

async function step(autoscaler: Autoscaler): Promise<void> {
  await autoscaler.step().catch((error: unknown) => {
    if (!(error instanceof FencedOutError)) throw error;
  });
  await settled();
}

async function run(world: World, autoscaler: Autoscaler, ms: number, until: () => boolean = () => false): Promise<number> {
  const beganMs = world.nowMs;
  while (world.nowMs - beganMs < ms && !until()) {
    world.tick();
    await settled();
    await step(autoscaler);
  }
  return world.nowMs - beganMs;
}

function faultsOf(random: () => number): Faults {
  const some = (most: number): number => (random() < 0.5 ? 0 : random() * most);
  return {
    launchMs: 500 + random() * 20_000,
    joinMs: 500 + random() * 30_000,
    refusals: some(0.3),
    lostAnswers: some(0.3),
    lagMs: some(8_000),
    listFailures: some(0.3),
    hangs: some(0.02),
    deaths: some(0.001),
    crashes: some(0.02),
  };
}

describe("a calm provider", () => {
  test("gets launches for what waits, and ends for what is idle, down to the floor", async () => {
    const world = new World(randomOf(1), CALM);
    const autoscaler = made(world);
    world.waiting = 20;
    await run(world, autoscaler, 10_000);
    expect([world.waiting, world.machines.size]).toEqual([0, 5]);
    await run(world, autoscaler, 60_000);
    const left = Array.from(world.machines.values()).filter(({ state }) => state !== "gone");
    expect(left.map(({ type }) => type)).toEqual(["a"]);
    expect(Array.from(world.instances.entries(), ([, { state }]) => state).toSorted()).toEqual([
      "RUNNING",
      "TERMINATED",
      "TERMINATED",
      "TERMINATED",
      "TERMINATED",
    ]);
  });

  test("a refused type backs off, and another takes over", async () => {
    const world = new World(randomOf(1), CALM);
    const { provider } = world;
    const autoscaler = new Autoscaler({
      owner: "one",
      configText: "",
      readConfig: () => CONFIG,
      start: { command: [], env: {} },
      provider: {
        ...provider,
        launch: (wanted) => {
          const refused = wanted.filter(({ type }) => type === "a").map(({ instanceId }) => instanceId);
          return provider
            .launch(wanted.filter(({ type }) => type !== "a"))
            .then((answers) => [...answers, ...refused.map((instanceId) => ({ instanceId, cause: "quota" as const, message: "4 of 4" }))]);
        },
      },
      ports: {
        head: world.head,
        nowMs: () => world.nowMs,
        log: () => {},
        wake: () => {},
        newName: () => `n${world.machines.size}-${world.nowMs}-${Math.random()}`,
      },
    });
    world.waiting = 8;
    await run(world, autoscaler, 60_000, () => world.waiting === 0);
    expect(world.waiting).toBe(0);
    expect(Array.from(world.machines.values(), ({ type }) => type)).toEqual(["b", "b"]);
  });

  test("of two autoscalers one acts; the other goes on when it falls silent", async () => {
    const world = new World(randomOf(1), CALM);
    const [first, second] = [made(world, "one"), made(world, "two")];
    world.waiting = 4;
    for (let index = 0; index < 20; index += 1) {
      world.tick();
      await step(first);
      await step(second);
    }
    expect([first.isActing, second.isActing, world.machines.size]).toEqual([true, false, 1]);
    await run(world, second, 20_000);
    expect(second.isActing).toBe(true);
    // The first wakes up, and finds that its fence is old.
    world.waiting = 40;
    await step(first);
    expect(first.isActing).toBe(false);
    await run(world, second, 20_000);
    expect(world.violations).toEqual([]);
  });
});

test("200 seeds of faulty providers: all work is done, nothing is launched twice, no node is ended with work, the rest goes", async () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = randomOf(seed);
    const faults = faultsOf(random);
    const world = new World(random, faults);
    let autoscaler = made(world);
    for (let phase = 0; phase < 3; phase += 1) {
      world.waiting += Math.floor(random() * 60);
      const endMs = world.nowMs + 10_000 + random() * 30_000;
      while (world.nowMs < endMs) {
        await run(world, autoscaler, 2_000);
        if (world.chance(faults.crashes * 4)) autoscaler = made(world);
      }
    }
    await run(world, autoscaler, 1_800_000, () => world.waiting === 0);
    const isQuiet = (): boolean =>
      Array.from(world.machines.values()).filter(({ state }) => state !== "gone").length === 1 &&
      Array.from(world.instances.entries()).filter(([, instance]) => !isEnded(instance)).length === 1;
    await run(world, autoscaler, 1_800_000, isQuiet);
    expect({ seed, waiting: world.waiting, isQuiet: isQuiet(), violations: world.violations }).toEqual({
      seed,
      waiting: 0,
      isQuiet: true,
      violations: [],
    });
  }
}, 120_000);
