/**
 * Batches through a function or a class of Python: the tasks and the actors that run it, in workers of Python.
 *
 * What they run is `python/shoal/_data.py`, which finds the user's code by its place and reads blocks where they lie in shared memory. A step of Python is alone in its tasks,
 * since the steps beside it run in JavaScript.
 */
import type { ActorClass, ObjectRefGenerator, RemoteFunction, TaskOptions } from "../../core/index.ts";
import { pythonClass, pythonFunction } from "../../core/internal.ts";
import type { Block } from "../blocks/block.ts";
import { BLOCKS_AHEAD_MAX } from "../limits.ts";
import type { ActorPool } from "./compute.ts";
import { type ActorStart, poolOf } from "./pool-actor.ts";
import type { PythonBatches } from "./python-step.ts";
import type { BlockFacts, TaskStart } from "./task.ts";

const MODULE = "shoal._data";
const STREAM = { numReturns: "streaming", highWaterMark: 2 * BLOCKS_AHEAD_MAX } as const;

type Items = ObjectRefGenerator<Block | BlockFacts>;

/** What Python is told of the step. An absent size is no key: Python would get it as an undefined. */
function spec({ name, batchFormat, batchSize }: PythonBatches): object {
  return { name, batchFormat, ...(batchSize === undefined ? {} : { batchSize }) };
}

export function pythonTasks(step: PythonBatches, options: TaskOptions<1>): TaskStart {
  const { place, name, options: own } = step.code;
  const task = pythonFunction(MODULE, "map_batches", { ...own, ...options, ...STREAM }) as RemoteFunction<unknown[], unknown>;
  return (args) => task.remote(place, name, spec(step), ...args) as unknown as Items;
}

interface BatchMapper {
  run(...blocks: Block[]): Generator<Block | BlockFacts>;
}

/** @param numCpus - what each actor holds */
export function pythonActors(step: PythonBatches, pool: ActorPool): ActorStart {
  const { place, name, options: own } = step.code;
  const run = { ...pool.callOptions, ...STREAM };
  const options = { ...own, ...pool.actorOptions, methods: { run } };
  const actorClass = pythonClass(MODULE, "BatchMapper", options) as ActorClass<new (...args: unknown[]) => BatchMapper>;
  return poolOf(step.name, {
    make: (numCpus) => actorClass.options({ numCpus }).remote(place, name, spec(step), ...pool.constructorArgs),
    call: (actor, refs) => actor.run.options({ name: step.name }).remote(...refs),
    close: () => {},
  });
}
