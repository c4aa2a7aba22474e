/** Definitions of searchers and schedulers: how a run that goes on makes them again, where all their options are JSON. */
import type { Definition, JsonValue } from "./trial.ts";

/** The definition of what was made with some options; undefined where an option is a function, an object of a class or a domain. */
export function definitionOf(type: string, options: object): Definition | undefined {
  return isJson(options) ? { type, options: structuredClone(options) as JsonValue } : undefined;
}

function isJson(value: unknown): boolean {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return false;
  if (typeof value !== "object" || value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return false;
  return Object.getOwnPropertySymbols(value).length === 0 && Object.values(value).every(isJson);
}
