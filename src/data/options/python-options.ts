/**
 * `mapBatches` with functions and classes of Python: the user's options and the resulting step.
 *
 * Options given to `python.task` and `python.actor` hold unless the options of `mapBatches` override them. Only Python has arguments behind the batch and by
 * name, because its functions capture no variables on the way to the workers.
 */
import type { ActorClass, RemoteFunction } from "../../core/index.ts";
import { count, custom, isPlainObject, oneOf, pythonCodeOf, readOptions } from "../../core/internal.ts";
import { type NamedArguments, PYTHON_FORMATS, type PythonBatches, type PythonBatchFormat } from "../engine/python/python-step.ts";
import type { ActorTransformOptions, TransformOptions } from "./transform-options.ts";

interface PythonBatchOptions {
  /** Arguments of the function, or of `__call__`, behind the batch. A reference arrives as its value: `put` large arguments. Default: none. */
  fnArgs?: readonly unknown[] | undefined;
  /** Arguments by name, with the same rules. Default: none. */
  fnKwargs?: NamedArguments | undefined;
  /** Rows of a batch; the last one of a task may have fewer. Default: each block is a batch. */
  batchSize?: number | undefined;
  /** Form of the function's batch: a dict of NumPy arrays, a `pyarrow.Table` or a `pandas.DataFrame`. The function may return any of them. Default: `"numpy"`. */
  batchFormat?: PythonBatchFormat | undefined;
}

/** The options of `mapBatches` with a function of Python. */
export interface MapBatchesPythonOptions extends TransformOptions, PythonBatchOptions {}

/** The options of `mapBatches` with a class of Python, whose method is `__call__`. */
export interface MapBatchesPythonActorOptions extends ActorTransformOptions, PythonBatchOptions {
  /** Arguments of the class's constructor. Default: none. */
  constructorArgs?: readonly unknown[] | undefined;
  /** Arguments of the class's constructor by name. Default: none. */
  constructorKwargs?: NamedArguments | undefined;
}

/** A function of Python by `python.task`. */
// oxlint-disable-next-line no-explicit-any -- what it takes and gives is the user's to say
export type PythonTask = RemoteFunction<any, any>;
/** A class of Python by `python.actor`. */
// oxlint-disable-next-line no-explicit-any -- as above
export type PythonActor = ActorClass<any>;

const IDENTIFIER = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;

const named = custom<NamedArguments>("an object whose keys are names of Python's arguments is needed", {}, (value) => {
  if (!isPlainObject(value)) return "wrong type";
  const wrong = Object.keys(value).find((key) => !IDENTIFIER.test(key));
  return wrong === undefined
    ? "ok"
    : { reason: `a key is the name of an argument in Python: not ${JSON.stringify(wrong)}`, error: "out of range" };
});

const OPTIONS = {
  batchSize: count({ min: 1 }, undefined),
  batchFormat: oneOf(PYTHON_FORMATS, "numpy"),
  fnArgs: custom<readonly unknown[]>("an array is needed", [], (value) => (Array.isArray(value) ? "ok" : "wrong type")),
  fnKwargs: named,
  constructorKwargs: named,
};

/** Options that functions and classes of TypeScript have no use for. */
const PYTHON_ONLY = ["fnArgs", "fnKwargs", "constructorKwargs"] as const;

type StepOptions = { [K in keyof typeof OPTIONS]?: unknown };

/**
 * Reads the step and the remaining options; undefined if the code is not Python's.
 *
 * @throws TypeError, RangeError for options that are wrong, and for Python's own where the code is TypeScript's
 */
export function readPythonBatches<O extends object>(
  fn: unknown,
  { batchSize, batchFormat, fnArgs, fnKwargs, constructorKwargs, ...others }: O & StepOptions,
): { step: PythonBatches; others: Omit<O, keyof StepOptions> } | undefined {
  const code = pythonCodeOf(fn);
  const own = { fnArgs, fnKwargs, constructorKwargs };
  if (code === undefined) {
    for (const name of PYTHON_ONLY)
      if (own[name] !== undefined)
        throw new TypeError(
          `Cannot call mapBatches: it takes ${name} with code of Python: a function of TypeScript captures what it needs, and a class gets constructorArgs`,
        );
    return undefined;
  }
  if (code.kind === "function" && constructorKwargs !== undefined)
    throw new TypeError("Cannot call mapBatches: it takes constructorKwargs with a class: received a function, which runs in tasks");
  const read = readOptions({ batchSize, batchFormat, ...own }, { of: "mapBatches", options: OPTIONS });
  return { step: { kind: "pythonBatches", name: `mapBatches(${code.name})`, code, ...read }, others };
}
