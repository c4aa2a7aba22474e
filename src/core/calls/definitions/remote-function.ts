/**
 * A remote function: what `remote(fn)` returns.
 *
 * It is a function object that refuses to be called directly, with `remote` and `options` on it. The state behind it (which function, which resolved
 * options) lies in a table of this file, so that copies made by `options()` and those that arrive from other processes look the same.
 */
import { describeValue } from "../../../runtime/base/texts/describe.ts";
import { insideLibrary } from "../../../runtime/base/library-code.ts";
import { requireRuntime } from "../../current-runtime.ts";
import type { FunctionRow } from "./function-table.ts";
import { isGeneratorFunction } from "./generators.ts";
import { defineMembers } from "../../../runtime/base/collections/define-members.ts";
import { bindNode } from "../../graph-binder.ts";
import { generatorOptions, type ResolvedTaskOptions, resolveTaskOptions } from "../../options/options.ts";
import { inPython, isPythonId } from "../../python/python-code.ts";
import type { Runtime } from "../../runtime.ts";
import type { TaskOptions } from "../../types/types.ts";

interface RemoteFunctionState {
  /** The function itself, in the process that made it. */
  readonly source: ((...args: never[]) => unknown) | undefined;
  /** The function's id: given at the first use, or received. */
  id: string | undefined;
  readonly name: string;
  readonly options: ResolvedTaskOptions;
  /** Keeps the definition of a received function. */
  readonly held?: object | undefined;
}

const states = new WeakMap<object, RemoteFunctionState>();

export function remoteFunctionState(value: object): RemoteFunctionState | undefined {
  return states.get(value);
}

export function makeRemoteFunction(given: RemoteFunctionState): object {
  const state = isPythonId(given.id) ? { ...given, options: inPython(onceOnGpus(given.options)) } : given;
  const { name } = state;
  const callable = (): never => {
    throw new TypeError(`Cannot call ${name} directly: it is a remote function: use ${name}.remote()`);
  };
  Object.defineProperty(callable, "name", { value: name, configurable: true });
  let row: FunctionRow | undefined;
  let runtime: ReturnType<typeof requireRuntime> | undefined;
  const submit = (...args: unknown[]): unknown => {
    const current = requireRuntime();
    if (row === undefined || runtime !== current) {
      row = insideLibrary(() => preparedRow(state, current));
      runtime = current;
    }
    return current.calls.callTask(row, args, state.options);
  };
  defineMembers(callable, {
    remote: submit,
    bind: (...args: unknown[]): object => bindNode({ kind: "task", name, numReturns: state.options.numReturns, args, submit }),
    options: (options: TaskOptions): object => {
      refuseMaxCalls(options, name);
      const more = isGeneratorFunction(state.source) ? generatorOptions(options, name) : options;
      return makeRemoteFunction({ ...state, options: resolveTaskOptions(more, state.options) });
    },
  });
  states.set(callable, state);
  return callable;
}

function preparedRow(state: RemoteFunctionState, { values: { functions } }: Runtime): FunctionRow {
  const found = functions.rowOf(state);
  functions.prepare(found);
  return functions.limited(found, state.options.maxCalls);
}

/**
 * A process keeps the GPUs that CUDA showed it first, and some GPU memory. So a Python call that holds GPUs ends its worker, as in Ray, unless
 * `maxCalls` says otherwise. JavaScript calls, which have no CUDA, do not.
 */
function onceOnGpus(options: ResolvedTaskOptions): ResolvedTaskOptions {
  const isLimited = (options.given as TaskOptions | undefined)?.maxCalls !== undefined;
  return isLimited || !((options.resources["GPU"] ?? 0) > 0) ? options : { ...options, maxCalls: 1 };
}

/** @throws TypeError for a limit in the options of one call: workers count the calls of a function, which has one limit */
function refuseMaxCalls(options: unknown, name: string): void {
  const given = (options as { maxCalls?: unknown } | null | undefined)?.maxCalls;
  if (given === undefined) return;
  throw new TypeError(
    `Cannot set maxCalls of ${name} for single calls: it belongs to the function: use remote(fn, { maxCalls: ... }): received ${describeValue(given)}`,
  );
}
