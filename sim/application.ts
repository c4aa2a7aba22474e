/**
 * The tasks and actors that simulated programs run in workers, and the checks that they make.
 *
 * Tasks and actors here are real ones of the public API, but they look at the whole world: which of them run at the same time, how often
 * each began, who hosts an actor. So each call checks from outside of Shoal's own books. No resource may be given twice, no actor may live
 * twice, no call may run more often than its limit, and each answer must be the computed value. Shared by all processes of a run;
 * `driver-program.ts` decides what is called.
 */
import { type ActorOptions, get, type ObjectRef, put, remote, type TaskOptions, wait } from "../src/index.ts";
import { currentProcess } from "./ambient.ts";
import { Stopped } from "./guard.ts";
import { Rests } from "./rests.ts";
import type { SimulatedProcess, World } from "./world.ts";

export interface TaskSpec {
  /** Unique per submission: each attempt of a parent names its children anew. */
  readonly key: string;
  readonly ms: number;
  readonly cpu: number;
  readonly resources: Readonly<Record<string, number>>;
  readonly maxRetries: number;
  readonly children: readonly TaskSpec[];
  /** The fate of the children's refs. */
  readonly after: "get" | "wait" | "forget" | "return";
  readonly size: "small" | "large";
  /** Throws at its end. */
  readonly fails: boolean;
  /** Names of the processes that it descends from: it counts for nothing once one of them is gone. */
  readonly line: readonly string[];
  /** The bundle that it runs in, and how much that has. */
  readonly bundle?: { readonly key: string; readonly cpu: number };
  /** The variable that its runtime environment sets. */
  readonly setting?: string;
  /** Memory that it has while it runs. */
  readonly usesBytes?: number;
  /** Demand for GPUs and for memory. */
  readonly gpus?: number;
  readonly memoryBytes?: number;
  /** A process takes so many calls of this kind and no more. */
  readonly maxCalls?: number;
}

export interface Outcome {
  readonly n: number;
  readonly bytes: Uint8Array | undefined;
  readonly refs: readonly ObjectRef<Outcome>[];
}

/** A ref inside a value: handed on, not resolved. */
export interface Borrowed {
  readonly ref: ObjectRef<Outcome>;
  readonly reads: boolean;
}

const LARGE_BYTES: number = 96 * 1024;

interface Busy {
  readonly process: SimulatedProcess;
  readonly spec: TaskSpec;
  readonly sinceMs: number;
  /** When it began to use its resources this time. */
  readonly usesSinceMs: number;
}

/** A task that awaits anything but a ref for so long may be overtaken by other tasks in the same worker (runtime/worker/executor.ts). */
const OVERTAKEN_AFTER_MS = 100;
const UNDER_WAY_MS = 50;
/** After its caller is gone a task that goes on is given up (runtime/worker/calls/open-calls.ts). */
const GIVEN_UP_AFTER_MS = 3500;

/** The task of a process that began last, or went on after a wait for refs. */
interface Turn {
  readonly key: string;
  readonly atMs: number;
  /** When another one of the process did last. */
  readonly beforeMs: number;
}

/** A beginning of a task. */
interface Attempt {
  readonly process: SimulatedProcess;
  /** When its process came to it, which may compute before. */
  readonly atMs: number;
}

interface WorkFunction {
  options(options: TaskOptions): { remote(spec: TaskSpec, ...inputs: Outcome[]): ObjectRef<Outcome> };
}

interface Host {
  process: SimulatedProcess;
  readonly births: SimulatedProcess[];
  busy: SimulatedProcess | undefined;
  readonly lastBySender: Map<string, number>;
}

export interface ActorPlan {
  readonly key: string;
  readonly maxRestarts: number;
  readonly maxTaskRetries: number;
}

interface ActorCall {
  readonly key: string;
  readonly sender: string;
  /** Grows from call to call of one sender. */
  readonly number: number;
  readonly ms: number;
}

export interface AccountHandle extends Disposable {
  readonly call: { remote(call: ActorCall, ...inputs: ObjectRef<Outcome>[]): ObjectRef<Outcome> };
}

/** @public Travels as an export of this module. */
export class ChosenFailure extends Error {
  override readonly name: string = "ChosenFailure";
}

/** A number that depends on everything that went into a result. */
export function mix(key: string, inputs: readonly number[]): number {
  let hash = 17;
  for (let index = 0; index < key.length; index += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(index)) | 0;
  for (const input of inputs) hash = (Math.imul(hash, 33) + input) | 0;
  return hash;
}

export function bytesOf(n: number): Uint8Array {
  return new Uint8Array(LARGE_BYTES).fill(n & 0xff);
}

/** Children's keys differ from attempt to attempt; their values do not. */
function plainKey(key: string): string {
  return key.replace(/@\d+/g, "");
}

/** Whether a value is what the model says. */
export function isOutcome(value: Outcome, n: number): boolean {
  if (value.n !== n) return false;
  const { bytes } = value;
  return bytes === undefined || (bytes.length === LARGE_BYTES && bytes[0] === (n & 0xff) && bytes[LARGE_BYTES - 1] === (n & 0xff));
}

export class Application {
  readonly world: World;
  /** Resources of the smallest machine: a demand within them fits everywhere. */
  readonly total: Readonly<Record<string, number>>;
  readonly #machines: ReadonlyMap<string, Readonly<Record<string, number>>>;
  readonly #busy = new Set<Busy>();
  readonly #begun = new Map<string, Attempt[]>();
  readonly #callsBegun = new Map<string, number>();
  readonly actors = new Map<string, Host>();
  /** Keys of calls that were cancelled: leftovers of these are nobody's. */
  readonly cancelled = new Set<string>();
  /** Whether a worker goes on without a CPU, as none came free in time. */
  isOverdrawn: (process: SimulatedProcess) => boolean = () => false;
  /** Generators between their first item and their end. */
  readonly openStreams = new Set<{ readonly key: string; readonly process: SimulatedProcess }>();
  /** Between which processes a connection broke, and when. */
  readonly #broken = new Map<string, number>();
  readonly #turns = new Map<SimulatedProcess, Turn>();
  /** How many tasks have begun in a process and not ended. */
  readonly #tasksIn = new Map<SimulatedProcess, number>();
  /** Names of processes that lost the connection to their node, for which they are dead. */
  readonly #cutOff = new Set<string>();
  readonly #members = new Map<string, SimulatedProcess>();
  /** Answers in the outboxes of dead workers. */
  readonly rests: Rests;
  /** Begun calls with a limit, counted by process and caller, as each caller has its own function id here. */
  readonly #limitedIn = new Map<string, number>();
  /** Nothing more is to begin in these. */
  readonly #retired = new Set<SimulatedProcess>();
  /** The task function by its `maxCalls`. */
  readonly #work = new Map<number | undefined, WorkFunction>();
  readonly #accounts: { options(options: ActorOptions): { remote(plan: ActorPlan): AccountHandle } };
  tasksRun = 0;
  callsRun = 0;

  constructor(world: World, machines: ReadonlyMap<string, Readonly<Record<string, number>>>) {
    this.world = world;
    this.rests = new Rests(world, (one, other) => this.#broken.has(`${one} ${other}`));
    this.#machines = machines;
    this.total = Array.from(machines.values()).reduce((least, one) => ((one["CPU"] ?? 0) < (least["CPU"] ?? 0) ? one : least));
    const app = this;
    const work = async function work(spec: TaskSpec, ...inputs: (Outcome | Borrowed)[]): Promise<Outcome> {
      return await app.runTask(spec, inputs);
    };
    for (const maxCalls of [undefined, 1, 2, 3])
      this.#work.set(maxCalls, remote(work, maxCalls === undefined ? {} : { maxCalls }) as unknown as WorkFunction);
    const Account = class Account {
      readonly #plan: ActorPlan;

      constructor(plan: ActorPlan) {
        this.#plan = plan;
        app.born(plan);
      }

      async call(call: ActorCall, ...inputs: Outcome[]): Promise<Outcome> {
        return await app.runCall(this.#plan, call, inputs);
      }
    };
    this.#accounts = remote(Account) as never;
  }

  get nodeCpus(): number {
    return this.total["CPU"] ?? 1;
  }

  /** Returns the value of a task that does not fail. */
  expected(spec: TaskSpec, inputs: readonly number[]): number {
    const children = spec.after === "get" ? spec.children.map((child) => this.expected(child, [])) : [];
    return mix(plainKey(spec.key), [...inputs, ...children]);
  }

  #process(): SimulatedProcess {
    return currentProcess() as SimulatedProcess;
  }

  async runTask(spec: TaskSpec, inputs: readonly (Outcome | Borrowed)[]): Promise<Outcome> {
    const process = this.#process();
    // The process died earlier in this turn.
    if (process.isDoomed) return await new Promise(() => {});
    const begun = this.begins(spec, { hasInputs: inputs.length > 0, isKept: spec.size === "small" && spec.after !== "return" });
    if (spec.maxCalls !== undefined) this.#beginsLimited(process, spec.line.at(-1) ?? "", spec.maxCalls);
    if (process.setting !== spec.setting && spec.line.length === 1)
      this.world.violate(`task ${spec.key} of environment ${spec.setting ?? "none"} runs in a worker of ${process.setting ?? "none"}`);
    const held: Disposable[] = [];
    const sinceMs = this.world.nowMs;
    this.goesOn(spec.key, process);
    this.#tasksIn.set(process, (this.#tasksIn.get(process) ?? 0) + 1);
    try {
      const values: number[] = [];
      await this.#use(spec, process, sinceMs);
      for (const input of inputs) {
        if (!("ref" in input)) {
          values.push(input.n);
          held.push(...input.refs);
          continue;
        }
        held.push(input.ref);
        if (input.reads) values.push((await get(input.ref)).n);
        this.goesOn(spec.key, process);
      }
      const returned = await this.#runChildren(spec, { values, attempt: begun, process, held });
      await this.#use(spec, process, sinceMs);
      if (spec.fails) throw new ChosenFailure(spec.key);
      const n = mix(plainKey(spec.key), values);
      return { n, bytes: spec.size === "large" ? bytesOf(n) : undefined, refs: returned };
    } finally {
      this.#tasksIn.set(process, (this.#tasksIn.get(process) ?? 1) - 1);
      // The collector would find them some time later. The returned value is encoded after this function has ended.
      if (held.length > 0) process.schedule(50, () => held.forEach((ref) => ref[Symbol.dispose]()));
    }
  }

  /**
   * Counts a beginning of a task in the running process. With `isKept` the caller keeps the result, so an answered task never begins again.
   *
   * @returns the number of this attempt
   */
  begins({ key, maxRetries }: { key: string; maxRetries: number }, { hasInputs, isKept }: { hasInputs: boolean; isKept: boolean }): number {
    const process = this.#process();
    process.acts();
    this.rests.identify(key);
    const attempts = this.#begun.get(key) ?? [];
    attempts.push({ process, atMs: process.nowMs() });
    this.#begun.set(key, attempts);
    const begun = attempts.length;
    this.tasksRun += 1;
    process.say(`runs ${key}, attempt ${begun}`);
    // A worker that the node ends for a cancellation or for memory uses up no retry of other tasks. A process killed while it computed never reached the tasks behind.
    const counted = attempts.filter(({ process: ran, atMs }) => !ran.wasEndedByNode && atMs <= ran.diedMs).length;
    if (maxRetries >= 0 && counted > maxRetries + 1) this.world.violate(`task ${key} began ${counted} times with maxRetries ${maxRetries}`);
    if (isKept && this.rests.mustHaveArrived(key)) this.world.violate(`task ${key} began again although its answer was in the outbox`);
    // A task with inputs has begun before it gets them.
    if (!hasInputs && this.#retired.has(process)) this.world.violate(`task ${key} began in ${process.name}, which takes none any more`);
    return begun;
  }

  #beginsLimited(process: SimulatedProcess, caller: string, maxCalls: number): void {
    const key = `${process.name} ${caller}`;
    const count = (this.#limitedIn.get(key) ?? 0) + 1;
    this.#limitedIn.set(key, count);
    if (count >= maxCalls) this.#retired.add(process);
  }

  /** The code of a task is stopped here: nothing more is to begin in its process. */
  stops(options: { isCancelled: boolean }): Stopped {
    this.#retired.add(this.#process());
    return new Stopped(options);
  }

  async #runChildren(
    spec: TaskSpec,
    run: { values: number[]; attempt: number; process: SimulatedProcess; held: Disposable[] },
  ): Promise<ObjectRef<Outcome>[]> {
    if (spec.children.length === 0) return [];
    const refs = spec.children.map((child, index) =>
      this.submit({ ...child, key: `${spec.key}@${run.attempt}.${index}`, line: [...spec.line, run.process.name] }, []),
    );
    run.held.push(...refs);
    switch (spec.after) {
      case "get":
        for (const value of await get(refs)) run.values.push(value.n);
        this.goesOn(spec.key, run.process);
        return [];
      case "wait":
        await wait(refs, { numReturns: refs.length, timeoutMs: 30 });
        this.goesOn(spec.key, run.process);
        return [];
      case "return":
        return refs;
      case "forget":
        return [];
    }
  }

  submit(spec: TaskSpec, inputs: readonly (ObjectRef<Outcome> | Borrowed)[], more: TaskOptions = {}): ObjectRef<Outcome> {
    const { gpus, memoryBytes, maxCalls } = spec;
    const scarce = { ...(gpus === undefined ? {} : { numGpus: gpus }), ...(memoryBytes === undefined ? {} : { memoryBytes }) };
    const options = { numCpus: spec.cpu, resources: { ...spec.resources }, maxRetries: spec.maxRetries, ...scarce, ...more };
    return (this.#work.get(maxCalls) as WorkFunction).options(options).remote(spec, ...(inputs as never[]));
  }

  createActor(plan: ActorPlan): AccountHandle {
    return this.#accounts.options({ maxRestarts: plan.maxRestarts, maxTaskRetries: plan.maxTaskRetries }).remote(plan);
  }

  put(key: string, size: "small" | "large"): ObjectRef<Outcome> {
    const n = mix(key, []);
    return put<Outcome>({ n, bytes: size === "large" ? bytesOf(n) : undefined, refs: [] });
  }

  /** Uses the task's resources for some time. */
  async #use(spec: TaskSpec, process: SimulatedProcess, sinceMs: number): Promise<void> {
    const busy = { process, spec, sinceMs, usesSinceMs: this.world.nowMs };
    this.#busy.add(busy);
    this.#checkBooking(spec, process.machine);
    process.usedBytes += spec.usesBytes ?? 0;
    await new Promise<void>((resolve) => process.schedule(spec.ms / 2, resolve));
    process.usedBytes -= spec.usesBytes ?? 0;
    this.#busy.delete(busy);
  }

  #checkBooking(spec: TaskSpec, machine: string): void {
    const total = this.#machines.get(machine) ?? {};
    const used: Record<string, number> = {};
    const names: string[] = [];
    for (const busy of this.#busy) {
      if (!busy.process.isAlive) this.#busy.delete(busy);
      else if (busy.process.machine === machine && !this.#isOrphan(busy) && !this.#isOvertaken(busy) && !this.isOverdrawn(busy.process)) {
        names.push(`${busy.spec.key} on ${busy.process.name}`);
        used["CPU"] = (used["CPU"] ?? 0) + busy.spec.cpu;
        const { bundle } = busy.spec;
        if (bundle !== undefined) {
          const inBundle = (used[bundle.key] ?? 0) + busy.spec.cpu;
          used[bundle.key] = inBundle;
          if (inBundle > bundle.cpu + 1e-9) this.world.violate(`${inBundle} of ${bundle.cpu} CPU of bundle ${bundle.key} are in use`);
        }
        const needs = { ...busy.spec.resources, GPU: busy.spec.gpus ?? 0, memory: busy.spec.memoryBytes ?? 0 };
        for (const [name, amount] of Object.entries(needs)) used[name] = (used[name] ?? 0) + amount;
      }
    }
    for (const [name, amount] of Object.entries(used)) {
      if (!name.includes("/") && amount > (total[name] ?? 0) + 1e-9)
        this.world.violate(`${amount} of ${total[name] ?? 0} ${name} are in use when ${spec.key} runs: ${names.join(", ")}`);
    }
  }

  /** A task begins there, or goes on after a wait for others: it may have overtaken one. */
  goesOn(key: string, process: SimulatedProcess): void {
    const last = this.#turns.get(process);
    const beforeMs = last?.key === key ? last.beforeMs : last?.atMs;
    this.#turns.set(process, { key, atMs: this.world.nowMs, beforeMs: beforeMs ?? 0 });
  }

  #isOvertaken(busy: Busy): boolean {
    const { nowMs } = this.world;
    if (nowMs - busy.sinceMs < OVERTAKEN_AFTER_MS) return false;
    // A task that goes on and waits again at once is not noticed.
    if (nowMs - busy.usesSinceMs >= OVERTAKEN_AFTER_MS && (this.#tasksIn.get(busy.process) ?? 0) > 1) return true;
    const last = this.#turns.get(busy.process);
    return last !== undefined && (last.key === busy.spec.key ? last.beforeMs : last.atMs) > busy.sinceMs;
  }

  /** From now on the one cannot know which of the messages to the other have arrived. */
  connectionBroke(one: SimulatedProcess, other: SimulatedProcess): void {
    this.#broken.set(`${one.name} ${other.name}`, this.world.nowMs);
    this.#broken.set(`${other.name} ${one.name}`, this.world.nowMs);
    for (const [end, far] of [
      [one, other],
      [other, one],
    ] as const)
      if (far.name === far.machine) this.#cutOff.add(end.name);
  }

  /** A call without a waiting caller: its worker may run others beside it. */
  #isOrphan({ spec, process, sinceMs }: Busy): boolean {
    const chain = [...spec.line, process.name];
    if (chain.some((name) => this.#cutOff.has(name))) return true;
    for (let index = 1; index < chain.length; index += 1) {
      const brokenMs = this.#broken.get(`${chain[index]} ${chain[index - 1]}`);
      // A call that began a moment after the break had been under way. Calls that its parent submits until it is given up are orphans, too.
      const withinMs = index === chain.length - 1 ? UNDER_WAY_MS : GIVEN_UP_AFTER_MS;
      if (brokenMs !== undefined && sinceMs < brokenMs + withinMs) return true;
    }
    for (const key of this.cancelled) if (spec.key === key || spec.key.startsWith(`${key}@`)) return true;
    return spec.line.some((name) => this.world.processes.find((other) => other.name === name)?.isAlive !== true);
  }

  born(plan: ActorPlan): void {
    const process = this.#process();
    if (process.isDoomed) return;
    process.say(`is actor ${plan.key}`);
    const host = this.actors.get(plan.key);
    if (host === undefined) {
      this.actors.set(plan.key, { process, births: [process], busy: undefined, lastBySender: new Map() });
      return;
    }
    if (host.process.isAlive) this.world.violate(`actor ${plan.key} is born in ${process.name} while it lives in ${host.process.name}`);
    host.process = process;
    host.births.push(process);
    host.lastBySender.clear();
    if (plan.maxRestarts >= 0 && host.births.length > plan.maxRestarts + 1)
      this.world.violate(`actor ${plan.key} was made ${host.births.length} times with maxRestarts ${plan.maxRestarts}`);
  }

  memberBorn(key: string): void {
    const process = this.#process();
    const before = this.#members.get(key);
    if (before?.isAlive === true) this.world.violate(`actor ${key} is born in ${process.name} while it lives in ${before.name}`);
    this.#members.set(key, process);
  }

  async runCall(plan: ActorPlan, call: ActorCall, inputs: readonly Outcome[]): Promise<Outcome> {
    const process = this.#process();
    if (process.isDoomed) return await new Promise(() => {});
    const host = this.actors.get(plan.key) as Host;
    process.acts();
    this.rests.identify(call.key);
    const begun = (this.#callsBegun.get(call.key) ?? 0) + 1;
    this.#callsBegun.set(call.key, begun);
    this.callsRun += 1;
    if (this.rests.mustHaveArrived(call.key)) this.world.violate(`call ${call.key} began again although its answer was in the outbox`);
    process.say(`runs call ${call.key} of ${plan.key}, attempt ${begun}`);
    if (host.process !== process)
      this.world.violate(`call ${call.key} of ${plan.key} runs in ${process.name}, not in ${host.process.name}`);
    if (host.busy === process) this.world.violate(`call ${call.key} of serial actor ${plan.key} overlaps another`);
    if (plan.maxTaskRetries >= 0 && begun > plan.maxTaskRetries + 1)
      this.world.violate(`call ${call.key} of ${plan.key} began ${begun} times with maxTaskRetries ${plan.maxTaskRetries}`);
    const last = host.lastBySender.get(call.sender) ?? -1;
    // A call that is sent again after its connection broke may have run, and later calls, too.
    if (call.number <= last && begun === 1)
      this.world.violate(`call ${call.key} of ${plan.key} runs after number ${last} of the same sender`);
    host.lastBySender.set(call.sender, Math.max(last, call.number));
    host.busy = process;
    await new Promise<void>((resolve) => process.schedule(call.ms, resolve));
    host.busy = undefined;
    return {
      n: mix(
        call.key,
        inputs.map((input) => input.n),
      ),
      bytes: undefined,
      refs: [],
    };
  }
}
