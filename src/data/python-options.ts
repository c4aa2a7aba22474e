/**
 * `mapBatches` with functions and classes of Python: what users may give, and the step that it makes.
 *
 * What `python.task` and `python.actor` were named with holds for the tasks and the actors, unless the options of `mapBatches` say otherwise.
 */
import type { ActorClass, RemoteFunction } from "../core/index.ts";
import { count, oneOf, pythonCodeOf, readOptions } from "../core/internal.ts";
import { PYTHON_FORMATS, type PythonBatches, type PythonBatchFormat } from "./engine/python-step.ts";
import type { ActorTransformOptions, TransformOptions } from "./transform-options.ts";

interface PythonBatchOptions {
  /** Rows of a batch; the last one of a task may have fewer. Default: each block is a batch. */
  batchSize?: number | undefined;
  /** What the function is given: a dict of NumPy arrays, a `pyarrow.Table` or a `pandas.DataFrame`. It may return any of them. Default: `"numpy"`. */
  batchFormat?: PythonBatchFormat | undefined;
}

/** The options of `mapBatches` with a function of Python. */
export interface MapBatchesPythonOptions extends TransformOptions, PythonBatchOptions {}

/** The options of `mapBatches` with a class of Python, whose method is `__call__`. */
export interface MapBatchesPythonActorOptions extends ActorTransformOptions, PythonBatchOptions {
  /** What the class is made with. Default: nothing. */
  constructorArgs?: readonly unknown[] | undefined;
}

/** A function of Python by `python.task`. */
// oxlint-disable-next-line no-explicit-any -- what it takes and gives is the user's to say
export type PythonTask = RemoteFunction<any, any>;
/** A class of Python by `python.actor`. */
// oxlint-disable-next-line no-explicit-any -- as above
export type PythonActor = ActorClass<any>;

const OPTIONS = { batchSize: count({ min: 1 }, undefined), batchFormat: oneOf(PYTHON_FORMATS, "numpy") };

/** The step and the options that are left; undefined for what is no code of Python. */
export function readPythonBatches<O extends object>(
  fn: unknown,
  { batchSize, batchFormat, ...others }: O & { batchSize?: unknown; batchFormat?: unknown },
): { step: PythonBatches; others: Omit<O, "batchSize" | "batchFormat"> } | undefined {
  const code = pythonCodeOf(fn);
  if (code === undefined) return undefined;
  const read = readOptions({ batchSize, batchFormat }, { of: "mapBatches", options: OPTIONS });
  return { step: { kind: "pythonBatches", name: `mapBatches(${code.name})`, code, ...read }, others };
}
