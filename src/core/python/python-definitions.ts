/**
 * Remote functions and actor classes for Python code. Workers find the code by its name, so nothing is captured.
 *
 * `place` is the path of a file or a dotted module; `python/python.ts` checks it and gives the results their types. Libraries that call the user's Python code from their own
 * ask where it is with `pythonCodeOf`, and find it there by `targets.find(place, name)`.
 */
import { actorClassState, makeActorClass } from "../actors/actor-class.ts";
import { makeRemoteFunction, remoteFunctionState } from "../calls/definitions/remote-function.ts";
import { resolveActorOptions, resolveTaskOptions } from "../options/options.ts";
import { pythonId, pythonPlace } from "./python-code.ts";
import type { ActorOptions, TaskOptions } from "../types/types.ts";

/** The remote function for a function of Python. @throws TypeError, RangeError for its options */
export function pythonFunction(place: string, name: string, options: TaskOptions): object {
  return makeRemoteFunction({ source: undefined, id: pythonId(place, name), name, options: resolveTaskOptions(options) });
}

/** The actor class for a class of Python, whose methods are not known here. @throws TypeError, RangeError for its options */
export function pythonClass(place: string, name: string, options: ActorOptions): object {
  const resolved = resolveActorOptions(options);
  return makeActorClass({ source: undefined, id: pythonId(place, name), name, methods: [], streaming: [], options: resolved });
}

/** Where Python code is, and the options that it was named with. */
export interface PythonCode {
  readonly kind: "function" | "class";
  readonly place: string;
  readonly name: string;
  readonly options: object;
}

/** The code that `python.task` or `python.actor` named; undefined for anything else. */
export function pythonCodeOf(value: unknown): PythonCode | undefined {
  if (typeof value !== "function") return undefined;
  const [task, actor] = [remoteFunctionState(value), actorClassState(value)];
  const found = pythonPlace((task ?? actor)?.id);
  if (found === undefined) return undefined;
  return { kind: task === undefined ? "class" : "function", ...found, options: (task ?? actor)?.options.given ?? {} };
}
