/**
 * The error of a value that the value format cannot carry, with the way to it.
 *
 * Thrown deep inside a value, where the way is not known; each container on the way out adds its step, and `encodeValue` then
 * completes the message. So a value that can be sent pays nothing for the path of one that cannot.
 */
import { describeValue } from "../../base/texts/describe.ts";
import { PATH_STEPS_MAX } from "./limits.ts";

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;
const KEY_SHOWN_MAX = 60;

/** A value cannot be sent in this format; the closure graph, which also carries functions and instances, may be able to. */
export class UnsupportedValueError extends TypeError {
  /** Steps from the outermost value to the one that cannot be sent, such as `.pool`, `[0]`, `["a b"]`, `.get("key")`; the first 32 of them. */
  readonly path: string[] = [];
  /** The value that cannot be sent. */
  readonly value: unknown;
  /** Why, in a few words. */
  readonly reason: string;

  constructor(value: unknown, reason: string) {
    super();
    this.value = value;
    this.reason = reason;
    Object.defineProperty(this, "name", { value: "UnsupportedValueError", writable: true, configurable: true, enumerable: false });
  }
}

/** Steps that were added so far, innermost first; complete only when the error has left the outermost value. */
const stepsOf = new WeakMap<UnsupportedValueError, string[]>();

/** Called by each container that an error leaves. Returns the error, to be thrown on. */
export function withStep(error: unknown, step: () => string): unknown {
  if (!(error instanceof UnsupportedValueError)) return error;
  const steps = stepsOf.get(error);
  if (steps === undefined) stepsOf.set(error, [step()]);
  else steps.push(step());
  return error;
}

/** Puts the path in order and into the message. Called again for an outer value, if `reduce` encoded a part by a separate call. */
export function completeUnsupportedValueError(error: UnsupportedValueError): UnsupportedValueError {
  const path = [...(stepsOf.get(error) ?? []).reverse(), ...error.path];
  stepsOf.delete(error);
  error.path.splice(0, error.path.length, ...path.slice(0, PATH_STEPS_MAX));
  const more = path.length > PATH_STEPS_MAX ? ` … (${path.length} steps in all)` : "";
  const where = path.length === 0 ? "the value" : `the value at ${error.path.join("")}${more}`;
  const message = `Cannot send ${where}: ${error.reason}: received ${describeValue(error.value)}`;
  Object.defineProperty(error, "message", { value: message, writable: true, configurable: true, enumerable: false });
  return error;
}

/** `.name`, or `["a b"]` for a key that is no identifier. */
export function propertyStep(name: string): string {
  if (name.length <= KEY_SHOWN_MAX && IDENTIFIER.test(name)) return `.${name}`;
  return `[${quoted(name)}]`;
}

/** `.get("key")` for a value of a Map. */
export function entryStep(key: unknown): string {
  return `.get(${typeof key === "string" ? quoted(key) : describeValue(key)})`;
}

function quoted(text: string): string {
  return JSON.stringify(text.length > KEY_SHOWN_MAX ? `${text.slice(0, KEY_SHOWN_MAX)}…` : text);
}
