/**
 * Functions and classes of Python as remote functions and actor classes: `python.task`, `python.actor`.
 *
 * Decides how Python code is named; all else (leases, retries, cancellation, streams) works as for TypeScript, in Python workers. The user declares the types, and
 * nothing checks them against the Python code.
 */
import { type ActorClass, type ActorOptions, PythonKeywords, type RemoteFunction, type TaskOptions } from "../core/index.ts";
import { describeValue, pythonClass, pythonFile, pythonFunction } from "../core/internal.ts";

/** The options of a Python task. Several returns are asked for with `.options({ numReturns: 2 })`, by which their types are known. */
export interface PythonTaskOptions extends Omit<TaskOptions, "numReturns"> {
  /** `"streaming"` for a generator: its items are a stream. Default: 1. */
  readonly numReturns?: 1 | "streaming" | undefined;
}

/** A function of Python, as TypeScript sees it. */
// oxlint-disable-next-line no-explicit-any -- what a Python function takes is the user's to say
type PythonFunction = (...args: any[]) => unknown;

export interface Python {
  /**
   * A function of Python as a remote function. `F` is its type as TypeScript sees it; `Generator<T>` or `AsyncGenerator<T>` as its result, with
   * `numReturns: "streaming"`, is a stream.
   *
   * @param place a file (`"train.py"`: in the working directory of the workers; `new URL("train.py", import.meta.url)`: beside the caller), or a dotted module
   * @param name of a function at its top level; `Class.method` for a static one
   * @throws TypeError for what names no code, and for options that do not exist
   * @example
   * const double = python.task<(x: number) => number>("train.py", "double");
   * await double.remote(21); // 42
   */
  task<F extends PythonFunction>(
    place: string | URL,
    name: string,
    options?: PythonTaskOptions,
  ): RemoteFunction<Parameters<F>, ReturnType<F>>;
  /**
   * A class of Python as an actor class. `I` is the type of the instances in TypeScript, `A` the arguments of the constructor.
   *
   * @param place as for `task`
   * @throws TypeError for an invalid place, and for unknown options
   * @example
   * interface Counter { increment(by: number): number }
   * using counter = python.actor<Counter, [start: number]>("counter.py", "Counter").remote(1);
   * await counter.increment.remote(2); // 3
   */
  // oxlint-disable-next-line no-explicit-any, no-unnecessary-type-parameters -- users name the arguments by it; without it any are taken
  actor<I extends object, A extends unknown[] = any[]>(
    place: string | URL,
    name: string,
    options?: ActorOptions<I>,
  ): ActorClass<new (...args: A) => I>;
  /**
   * Arguments by name, as the last argument of a call of Python: for parameters after `*`, and to leave out others.
   *
   * @throws TypeError for invalid names, and for references: these become values as arguments by place alone
   * @example
   * const fit = python.task<(rows: number[], options: PythonKeywords) => number>("train.py", "fit"); // def fit(rows, *, epochs=1)
   * await fit.remote([1, 2], python.keywords({ epochs: 3 }));
   */
  keywords(values: Readonly<Record<string, unknown>>): PythonKeywords;
}

/** A name, or several with dots between them. */
const NAME = /^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$/u;

export const python: Python = {
  task: (place, name, options = {}) => pythonFunction(checkedPlace(place, name), name, options) as never,
  actor: (place, name, options = {}) => pythonClass(checkedPlace(place, name), name, options) as never,
  keywords: (values) => new PythonKeywords(values),
};

/** The path of the file or the module, once it and the name are found to name code. */
function checkedPlace(place: unknown, name: unknown): string {
  const path = place instanceof URL ? pythonFile(place) : place;
  // A colon is part of an absolute path; anywhere else it is a URL that was written as a text.
  if (typeof path !== "string" || path === "" || path.includes("\0") || (path.includes(":") && !path.startsWith("/")))
    throw new TypeError(
      `Cannot name Python code: a file such as "train.py" or a module such as "package.module" is needed: received ${describeValue(place)}`,
    );
  if (!path.endsWith(".py") && !path.includes("/") && !NAME.test(path))
    throw new TypeError(
      `Cannot name Python code: a file ends in .py, and a module is names with dots between them: received ${describeValue(place)}`,
    );
  if (typeof name !== "string" || !NAME.test(name))
    throw new TypeError(`Cannot name Python code: the name of a function or class in ${path} is needed: received ${describeValue(name)}`);
  return path;
}
