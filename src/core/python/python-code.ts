/**
 * Names Python functions and classes, and sends their calls to Python workers.
 *
 * An id `python:<module or file>:<name>` needs no definition: the worker finds the code by it. The call's runtime environment names the
 * language. Leases are granted by runtime environment, so only a Python worker serves the call. Called where a remote function or an actor class is
 * made, also from one that travelled.
 */
import { pythonRuntimeEnv, type RuntimeEnvSpec } from "../../runtime/environment/runtime-env.ts";
import { SerializationError } from "../../runtime/base/errors.ts";
import { describeValue } from "../../runtime/base/texts/describe.ts";
import type { UnsupportedValueError } from "../../runtime/wire/value/unsupported-value-error.ts";
import { pathOfFileUrl } from "../../runtime/os/files/file-url.ts";
import { placing } from "../calls/submission/inherited-place.ts";

const PREFIX = "python:";

/** @param place a file, by its path, or a dotted module */
export function pythonId(place: string, name: string): string {
  return `${PREFIX}${place}:${name}`;
}

/** The function or class of an id; undefined for an id that is none of Python's. */
export function pythonPlace(id: string | undefined): { place: string; name: string } | undefined {
  if (id === undefined || !isPythonId(id)) return undefined;
  const end = id.lastIndexOf(":");
  return { place: id.slice(PREFIX.length, end), name: id.slice(end + 1) };
}

/** The path of the file that a URL names. @throws TypeError for a URL of anything else */
export function pythonFile(url: URL): string {
  try {
    return pathOfFileUrl(url);
  } catch (error) {
    throw new TypeError(`Cannot name Python code: only file URLs of this machine name files: received ${url.href}`, { cause: error });
  }
}

export function isPythonId(id: string | undefined): boolean {
  return id?.startsWith(PREFIX) === true;
}

/** The options of a call with the language in its environment; from now on, calls of this process have to be looked at. */
export function inPython<O extends { readonly runtimeEnv?: RuntimeEnvSpec | undefined }>(options: O): O {
  if (options.runtimeEnv?.language === "python") return options;
  placing.isInherited = true;
  return Object.freeze({ ...options, runtimeEnv: pythonRuntimeEnv(options.runtimeEnv) });
}

/** A value that only JavaScript can read is not sent to Python: it is an error with the way to the value. */
export function refusedByPython(call: string, { path: steps, value }: UnsupportedValueError): SerializationError {
  const path = steps.join("");
  return new SerializationError(
    `Cannot call ${call}: the argument at ${path} has no form in Python, which reads neither functions nor instances of classes: received ${describeValue(value)}`,
    { reason: "no form in Python", hint: "Pass plain data, typed arrays, references or handles of actors.", path },
  );
}
