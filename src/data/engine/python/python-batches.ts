/**
 * Passes batches through a function or a class of Python, by tasks and actors in Python workers.
 *
 * These run `python/shoal/_data.py`, which finds the user's code by its place and reads blocks directly in shared memory. A Python step is alone in its tasks,
 * because the steps beside it run in JavaScript.
 */
import type { ActorClass, ObjectRefGenerator, RemoteFunction, TaskOptions } from "../../../core/index.ts";
import { pythonClass, pythonFunction } from "../../../core/internal.ts";
import type { Block } from "../../blocks/block.ts";
import type { BlockOrigin } from "../../blocks/memory/origin.ts";
import { BLOCKS_AHEAD_MAX } from "../../limits.ts";
import type { ActorPool } from "../pools/compute.ts";
import { type ActorStart, poolOf } from "../pools/pool-actor.ts";
import type { NamedArguments, PythonBatches } from "./python-step.ts";
import type { BlockFacts, TaskStart } from "../tasks/task.ts";

const MODULE = "shoal._data";
const STREAM = { numReturns: "streaming", highWaterMark: 2 * BLOCKS_AHEAD_MAX } as const;

type Items = ObjectRefGenerator<Block | BlockFacts>;

/** Returns the step's specification for Python. It has no key for an absent size, which Python would read as `undefined`. */
function spec({ name, batchFormat, batchSize }: PythonBatches): object {
  return { name, batchFormat, ...(batchSize === undefined ? {} : { batchSize }) };
}

/** Arguments for the user's code: how many there are by place, and the names of the others. The values stand beside it, where a reference is given as its value. */
function parted(args: readonly unknown[], named: NamedArguments): [counts: [number, string[]], values: unknown[]] {
  return [
    [args.length, Object.keys(named)],
    [...args, ...Object.values(named)],
  ];
}

/** Where the rows of each block came from; null where nothing is known. */
function originsOf(inputs: readonly BlockFacts[]): (BlockOrigin | null)[] {
  return inputs.map(({ origin }) => origin ?? null);
}

export function pythonTasks(step: PythonBatches, options: TaskOptions<1>): TaskStart {
  const { place, name, options: own } = step.code;
  const task = pythonFunction(MODULE, "map_batches", { ...own, ...options, ...STREAM }) as RemoteFunction<unknown[], unknown>;
  const [counts, values] = parted(step.fnArgs, step.fnKwargs);
  const told = spec(step);
  return (args, inputs) => task.remote(place, name, told, originsOf(inputs), counts, ...values, ...args) as unknown as Items;
}

interface BatchMapper {
  run(origins: (BlockOrigin | null)[], ...blocks: Block[]): Generator<Block | BlockFacts>;
}

/** @param numCpus - what each actor holds */
export function pythonActors(step: PythonBatches, pool: ActorPool): ActorStart {
  const { place, name, options: own } = step.code;
  const run = { ...pool.callOptions, ...STREAM };
  const options = { ...own, ...pool.actorOptions, methods: { run } };
  const actorClass = pythonClass(MODULE, "BatchMapper", options) as ActorClass<new (...args: unknown[]) => BatchMapper>;
  const [made, madeWith] = parted(pool.constructorArgs, step.constructorKwargs);
  const [called, calledWith] = parted(step.fnArgs, step.fnKwargs);
  return poolOf(step.name, {
    make: (numCpus) => actorClass.options({ numCpus }).remote(place, name, spec(step), made, called, ...madeWith, ...calledWith),
    call: (actor, refs, inputs) => actor.run.options({ name: step.name }).remote(originsOf(inputs), ...refs),
    // Blocks are Arrow arrays there, which no call takes a part of.
    unitRows: Number.POSITIVE_INFINITY,
    close: () => {},
  });
}
