/**
 * Remote functions and actor classes for Python code. Workers find the code by its name, so nothing is captured.
 *
 * `place` is the path of a file or a dotted module; `python/python.ts` checks it and gives the results their types.
 */
import { makeActorClass } from "./actors/actor-class.ts";
import { makeRemoteFunction } from "./calls/remote-function.ts";
import { resolveActorOptions, resolveTaskOptions } from "./options/options.ts";
import { pythonId } from "./python-code.ts";
import type { ActorOptions, TaskOptions } from "./types.ts";

/** The remote function for a function of Python. @throws TypeError, RangeError for its options */
export function pythonFunction(place: string, name: string, options: TaskOptions): object {
  return makeRemoteFunction({ source: undefined, id: pythonId(place, name), name, options: resolveTaskOptions(options) });
}

/** The actor class for a class of Python, whose methods are not known here. @throws TypeError, RangeError for its options */
export function pythonClass(place: string, name: string, options: ActorOptions): object {
  const resolved = resolveActorOptions(options);
  return makeActorClass({ source: undefined, id: pythonId(place, name), name, methods: [], streaming: [], options: resolved });
}
