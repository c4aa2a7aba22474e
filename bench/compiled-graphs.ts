/**
 * Shared by the figures of compiled graphs. A compiled graph of actors and ordinary calls of other actors of the same class take turns,
 * window by window, so that both numbers of a ratio are from one moment. Processor time is that of all processes of the session, the
 * daemon's included. `ray/compiled_graphs.py` is the twin.
 */
import {
  type ActorHandle,
  type CompiledGraph,
  type CompiledRef,
  get,
  type GraphNode,
  InputNode,
  MultiOutputNode,
  type ObjectRef,
  remote,
} from "shoal";
import { MARK_VARIABLE } from "./child.ts";
import type { Measurement, Plan } from "./figure.ts";
import { markedProcesses, processorMicroseconds } from "./process-tree.ts";
import { median } from "./statistics.ts";
import { operationsPerSecond } from "./throughput.ts";

interface GraphShape {
  /** Actors through which a value goes, one after the other. */
  readonly stages: number;
  /** Such chains beside each other, which all take the same input. */
  readonly lanes?: number;
  /** Executions that are under way at a time. */
  readonly inFlight: number;
  /** Each stage passes on its input; otherwise two bytes go in, and each stage answers with two. */
  readonly input?: Uint8Array;
}

const SMALL_VALUE = Uint8Array.of(0x6f, 0x6b);

/** @public Travels as an export of this module. */
export class StageActor {
  stage(_value: Uint8Array): Uint8Array {
    return SMALL_VALUE;
  }

  pass(value: Uint8Array): Uint8Array {
    return value;
  }
}

const StageActorClass = remote(StageActor, { numCpus: 0 });

/** One of the two ways to run a graph. */
class Side {
  readonly perSecond: number[] = [];
  readonly cpuMicroseconds: number[] = [];
  readonly #execute: () => unknown;
  readonly #inFlight: number;
  readonly #pids: readonly number[];

  constructor(options: { execute: () => unknown; inFlight: number; pids: readonly number[] }) {
    this.#execute = options.execute;
    this.#inFlight = options.inFlight;
    this.#pids = options.pids;
  }

  async measure(plan: Plan): Promise<void> {
    let calls = 0;
    const before = await processorMicroseconds(this.#pids);
    const { samples } = await operationsPerSecond(
      async () => {
        calls += this.#inFlight;
        if (this.#inFlight === 1) await this.#execute();
        else await Promise.all(Array.from({ length: this.#inFlight }, this.#execute));
      },
      plan,
      { operationsPerCall: this.#inFlight },
    );
    this.cpuMicroseconds.push(((await processorMicroseconds(this.#pids)) - before) / calls);
    this.perSecond.push(median(samples));
  }

  forget(): void {
    this.perSecond.length = 0;
    this.cpuMicroseconds.length = 0;
  }
}

/** Executions a second; the details have the same by calls, and the processor time of both. */
export async function measureGraph(shape: GraphShape, plan: Plan): Promise<Measurement> {
  const { calls, compiled, transport } = await measureBoth(shape, plan);
  return {
    samples: compiled.perSecond,
    details: {
      transport,
      callsPerSecond: Math.round(median(calls.perSecond)),
      timesFasterThanCalls: rounded(median(ratios(compiled.perSecond, calls.perSecond))),
      cpuMicroseconds: rounded(median(compiled.cpuMicroseconds)),
      callsCpuMicroseconds: rounded(median(calls.cpuMicroseconds)),
      timesLessCpuThanCalls: rounded(median(ratios(calls.cpuMicroseconds, compiled.cpuMicroseconds))),
    },
  };
}

/** Processor time of an execution, in percent of the time by ordinary calls. */
export async function measureGraphCost(shape: GraphShape, plan: Plan): Promise<Measurement> {
  const { calls, compiled } = await measureBoth(shape, plan);
  return {
    samples: ratios(compiled.cpuMicroseconds, calls.cpuMicroseconds).map((ratio) => ratio * 100),
    details: {
      cpuMicroseconds: rounded(median(compiled.cpuMicroseconds)),
      callsCpuMicroseconds: rounded(median(calls.cpuMicroseconds)),
    },
  };
}

async function measureBoth(shape: GraphShape, plan: Plan): Promise<{ calls: Side; compiled: Side; transport: string }> {
  const { inFlight, input = SMALL_VALUE } = shape;
  const method = shape.input === undefined ? "stage" : "pass";
  const called = newLanes(shape);
  const byCalls =
    called.length === 1
      ? () => get(callThrough(called[0] as Lane, method, input))
      : () => get(called.map((lane) => callThrough(lane, method, input)));
  await byCalls();
  const graph = await compileLanes(newLanes(shape), method);
  const pids = await markedProcesses(`${MARK_VARIABLE}=${process.env[MARK_VARIABLE] ?? ""}`);
  const calls = new Side({ execute: byCalls, inFlight, pids });
  const compiled = new Side({ execute: () => allOf(graph.execute(input)), inFlight, pids });
  for (const side of [calls, compiled]) {
    await side.measure({ ...plan, windows: 1 });
    side.forget();
  }
  for (let window = 0; window < plan.windows; window += 1)
    for (const side of [calls, compiled]) await side.measure({ ...plan, windows: 1, warmUpMs: plan.warmUpMs / 10 });
  await graph.teardown();
  return { calls, compiled, transport: graph.transport };
}

type Lane = readonly ActorHandle<StageActor>[];
type Method = "stage" | "pass";

function newLanes({ stages, lanes = 1 }: GraphShape): Lane[] {
  return Array.from({ length: lanes }, () => Array.from({ length: stages }, () => StageActorClass.remote()));
}

/** The same chain without a graph: each call takes the reference of the one before. */
function callThrough(lane: Lane, method: Method, input: Uint8Array): ObjectRef<Uint8Array> {
  let value: Uint8Array | ObjectRef<Uint8Array> = input;
  for (const actor of lane) value = actor[method].remote(value);
  return value as ObjectRef<Uint8Array>;
}

type Outputs = CompiledRef<Uint8Array> | readonly CompiledRef<Uint8Array>[];

function compileLanes(lanes: readonly Lane[], method: Method): Promise<CompiledGraph<Outputs, Uint8Array>> {
  const input = new InputNode<Uint8Array>();
  const ends = lanes.map((lane) => {
    let node: GraphNode<Uint8Array, Uint8Array> | undefined;
    for (const actor of lane) node = actor[method].bind(node ?? input);
    return node as GraphNode<Uint8Array, Uint8Array>;
  });
  return ends.length === 1 ? (ends[0] as (typeof ends)[0]).compile() : new MultiOutputNode(ends).compile();
}

function allOf(outputs: Outputs): PromiseLike<unknown> {
  return Array.isArray(outputs) ? Promise.all(outputs) : (outputs as CompiledRef<Uint8Array>);
}

/** Pair by pair. */
function ratios(left: readonly number[], right: readonly number[]): number[] {
  return left.map((value, index) => value / (right[index] as number));
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
