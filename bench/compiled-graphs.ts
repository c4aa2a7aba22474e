/**
 * What the figures of compiled graphs share: a graph of actors, run compiled, and beside it the same graph by ordinary calls in the same process, so
 * that the ratio of the two is of one moment. Processor time is that of the driver and of the actors together. `ray/compiled_graphs.py` is the twin.
 */
import { type ActorHandle, type CompiledGraph, type CompiledRef, type GraphNode, InputNode, remote } from "shoal";
import type { Measurement, Plan } from "./figure.ts";
import { operationsPerSecond } from "./throughput.ts";

export class StageActor {
  stage(_value: Uint8Array): Uint8Array {
    return Uint8Array.of(0x6f, 0x6b);
  }

  cpuMicroseconds(): number {
    const { user, system } = process.cpuUsage();
    return user + system;
  }
}

const INPUT = Uint8Array.of(0x6f, 0x6b);
const StageActorClass = remote(StageActor, { numCpus: 0 });

interface Side {
  readonly measurement: Measurement;
  readonly cpuMicrosecondsPerCall: number;
}

/** @param batchSize executions that are under way at a time */
export async function measureGraph(stages: number, batchSize: number, plan: Plan): Promise<Measurement> {
  const actors = Array.from({ length: stages }, () => StageActorClass.remote());
  const input = new InputNode<Uint8Array>();
  let node: GraphNode<Uint8Array, Uint8Array> | undefined;
  for (const actor of actors) node = actor.stage.bind(node ?? input);
  const graph = node as GraphNode<Uint8Array, Uint8Array>;
  const calls = await measureSide(actors, plan, batchSize, () => graph.execute(INPUT));
  const before = await cpuOf(actors);
  const compiled: CompiledGraph<CompiledRef<Uint8Array>, Uint8Array> = await graph.compile();
  let executions = 0;
  const measurement = await operationsPerSecond(
    async () => {
      executions += batchSize;
      if (batchSize === 1) await compiled.execute(INPUT);
      else await Promise.all(Array.from({ length: batchSize }, () => compiled.execute(INPUT)));
    },
    plan,
    { operationsPerCall: batchSize },
  );
  // The actors answer nothing else until then.
  await compiled.teardown();
  const cpuMicroseconds = ((await cpuOf(actors)) - before) / executions;
  const perSecond = middle(measurement.samples);
  const callsPerSecond = middle(calls.measurement.samples);
  return {
    ...measurement,
    details: {
      transport: compiled.transport,
      callsPerSecond: Math.round(callsPerSecond),
      timesFasterThanCalls: rounded(perSecond / callsPerSecond),
      cpuMicroseconds: rounded(cpuMicroseconds),
      callsCpuMicroseconds: rounded(calls.cpuMicrosecondsPerCall),
    },
  };
}

async function measureSide(
  actors: readonly ActorHandle<StageActor>[],
  plan: Plan,
  batchSize: number,
  call: () => PromiseLike<unknown>,
): Promise<Side> {
  const before = await cpuOf(actors);
  let count = 0;
  const measurement = await operationsPerSecond(
    async () => {
      count += batchSize;
      if (batchSize === 1) await call();
      else await Promise.all(Array.from({ length: batchSize }, call));
    },
    plan,
    { operationsPerCall: batchSize },
  );
  return { measurement, cpuMicrosecondsPerCall: ((await cpuOf(actors)) - before) / count };
}

async function cpuOf(actors: readonly ActorHandle<StageActor>[]): Promise<number> {
  const { user, system } = process.cpuUsage();
  let sum = user + system;
  for (const actor of actors) sum += await actor.cpuMicroseconds.remote();
  return sum;
}

function middle(samples: readonly number[]): number {
  return samples.toSorted((left, right) => left - right)[Math.floor(samples.length / 2)] as number;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
