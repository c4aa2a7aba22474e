/**
 * Names an anonymous function after the variable or property that its result is assigned to.
 *
 * `const train = remote((x) => ...)` gives the engine no name, since the arrow is an argument. Users know it as `train`, so messages should
 * use that name. Only the text right before the function is searched: a wrong guess would be worse than none. Called by `capture.ts`.
 */
import { type AnyFunction, factsOf } from "./function-facts.ts";

/** Enough for a declaration with its type. */
const BEFORE_LENGTH_MAX = 300;
/** A call with this function as its first argument; compiled modules call imports as `(0, module.remote)(`. */
const CALL = String.raw`(?:await\s+)?(?:[\w$.]+|\(0,\s*[\w$.]+\))\s*(?:<[^()]*>)?\s*\(\s*$`;
const ASSIGNED = new RegExp(String.raw`(?:^|[^\w$.])([A-Za-z_$][\w$]*)\s*(?::[^=;{}()]*)?=\s*${CALL}`);
const PROPERTY = new RegExp(String.raw`[{,]\s*([A-Za-z_$][\w$]*)\s*:\s*${CALL}`);

/** Returns an empty string if nothing names the function. */
export function nameByVariable(target: AnyFunction): string {
  const place = factsOf(target).place();
  if (place === null || place.offset < 0) return "";
  const before = place.script.text.slice(Math.max(0, place.offset - BEFORE_LENGTH_MAX), place.offset);
  return nameBefore(before);
}

export function nameBefore(text: string): string {
  return ASSIGNED.exec(text)?.[1] ?? PROPERTY.exec(text)?.[1] ?? "";
}
