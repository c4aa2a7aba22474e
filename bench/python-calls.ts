/**
 * Shared by the figures of Python: the functions and the class that they call, and a Python with NumPy. The shapes are those of
 * `small-calls.ts`, so that Ray's own Python, called from Python, is the other side.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type ActorClass, python, type RemoteFunction } from "shoal";
import { RAY_VERSION } from "./ray-environment.ts";

export const CALLED: URL = new URL("programs/python_calls.py", import.meta.url);

/** Ray's own environment where it has been built; otherwise one is made of the package. */
const RAY_VENV = fileURLToPath(new URL(`../.bench-cache/ray-${RAY_VERSION}`, import.meta.url));
export const WITH_NUMPY: { python: string | string[]; pythonPreload: string[] } = {
  python: existsSync(RAY_VENV) ? RAY_VENV : ["numpy"],
  pythonPreload: ["numpy"],
};

export const pythonSmallValue: RemoteFunction<[], Uint8Array> = python.task<() => Uint8Array>(CALLED, "small_value");

interface PythonSmallValueActor {
  small_value(): Uint8Array;
}

export const PythonSmallValueActorClass: ActorClass<new () => PythonSmallValueActor> = python.actor<PythonSmallValueActor, []>(
  CALLED,
  "SmallValueActor",
  { numCpus: 0 },
);
