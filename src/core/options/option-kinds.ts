/**
 * The kinds of options: what an option accepts, its default, and the error for anything else.
 *
 * An option is a row of a table in `options.ts`; `readOptions` holds given values against such a table. Unknown names and values of a wrong type
 * are a `TypeError`, values out of range a `RangeError`; both name the option, what is allowed, and what was received.
 */
import { describeValue } from "../../runtime/base/describe.ts";
import { TIMER_MS_MAX } from "../../runtime/base/limits.ts";
import { RESOURCE_UNIT } from "../../runtime/base/resources.ts";
import { AMOUNT_MAX, NAME_LENGTH_MAX } from "../limits.ts";
import { nearNames } from "../../runtime/base/near-names.ts";

/** One row of a table of options. */
export interface Option<T> {
  /** What is allowed, to be read after "Cannot set numCpus of a task:". */
  readonly allowed: string;
  readonly fallback: T;
  /** Whether a value is allowed; a text says more about what is wrong with it than `allowed` does. */
  check(value: unknown): "ok" | "wrong type" | "out of range" | { reason: string; error: "wrong type" | "out of range" };
}

type OptionTable = Readonly<Record<string, Option<unknown>>>;
type OptionValues<T extends OptionTable> = { [K in keyof T]: T[K] extends Option<infer V> ? V : never };

/** The beginnings of messages: "Cannot `set` numCpus `of`: ...". */
export interface OptionSubject {
  readonly set: string;
  readonly of: string;
  /** Other programs' names for our options, besides those that differ in their spelling alone. */
  readonly otherNames: Readonly<Record<string, string>>;
}

/** `true` or `false`. */
export function flag(fallback: boolean): Option<boolean> {
  return { allowed: "true or false is needed", fallback, check: (value) => (typeof value === "boolean" ? "ok" : "wrong type") };
}

/** Text that is not empty. */
export function text<T extends string | undefined>(fallback: T): Option<string | T> {
  return {
    allowed: `text of 1 to ${NAME_LENGTH_MAX} characters is needed`,
    fallback,
    check: (value) =>
      typeof value !== "string" ? "wrong type" : value.length >= 1 && value.length <= NAME_LENGTH_MAX ? "ok" : "out of range",
  };
}

/** One of some names. */
export function oneOf<const T extends string>(allowed: readonly T[], fallback: T): Option<T> {
  return {
    allowed: `${allowed.map((name) => JSON.stringify(name)).join(" or ")} is needed`,
    fallback,
    check: (value) => (typeof value !== "string" ? "wrong type" : (allowed as readonly string[]).includes(value) ? "ok" : "out of range"),
  };
}

/** A whole number; where -1 is allowed it means without end. */
export function count(range: { min: number; max?: number }, fallback: number): Option<number> {
  const { min, max = Number.MAX_SAFE_INTEGER } = range;
  const upTo = max === Number.MAX_SAFE_INTEGER ? "" : ` to ${max}`;
  return {
    allowed: `a whole number from ${min}${upTo} is needed${min === -1 ? " (-1: without end)" : ""}`,
    fallback,
    check: (value) =>
      typeof value !== "number" ? "wrong type" : Number.isInteger(value) && value >= min && value <= max ? "ok" : "out of range",
  };
}

/** Into how many references a result is split, or that its items are a stream. */
export function returnCount(max: number): Option<number | "streaming"> {
  const numbers = count({ min: 0, max }, 1);
  return {
    allowed: `${numbers.allowed.replace(" is needed", "")} or "streaming" is needed`,
    fallback: 1,
    check: (value) => (value === "streaming" ? "ok" : typeof value === "string" ? "out of range" : numbers.check(value)),
  };
}

/** How many items; `Infinity` is no limit. Without a value the limit depends on their size, too. */
export function itemCount(): Option<number | undefined> {
  const numbers = count({ min: 1 }, 1);
  return {
    allowed: "a whole number from 1, or Infinity, is needed",
    fallback: undefined,
    check: (value) => (value === Number.POSITIVE_INFINITY ? "ok" : numbers.check(value)),
  };
}

/** A part of a whole. */
export function fraction(fallback: number): Option<number> {
  return {
    allowed: "a number above 0 and up to 1 is needed",
    fallback,
    check: (value) => (typeof value !== "number" ? "wrong type" : value > 0 && value <= 1 ? "ok" : "out of range"),
  };
}

/** A size in bytes. */
export function bytes<T extends number | undefined>(range: { min: number }, fallback: T): Option<number | T> {
  return {
    allowed: `a whole number of bytes from ${range.min} to ${AMOUNT_MAX} is needed`,
    fallback,
    check: (value) => {
      if (typeof value !== "number") return "wrong type";
      return Number.isInteger(value) && value >= range.min && value <= AMOUNT_MAX ? "ok" : "out of range";
    },
  };
}

/** A time in milliseconds; fractions are allowed. */
export function milliseconds(fallback: number): Option<number> {
  return {
    allowed: `a number of milliseconds from 0 to ${TIMER_MS_MAX} is needed`,
    fallback,
    check: (value) => (typeof value !== "number" ? "wrong type" : value >= 0 && value <= TIMER_MS_MAX ? "ok" : "out of range"),
  };
}

/** A time in milliseconds after which to stop; `Infinity` is never, as is the default. */
export function timeLimit(): Option<number | undefined> {
  const { check } = milliseconds(0);
  return {
    allowed: `a number of milliseconds from 0 to ${TIMER_MS_MAX}, or Infinity, is needed`,
    fallback: undefined,
    check: (value) => (value === Number.POSITIVE_INFINITY ? "ok" : check(value)),
  };
}

/** An amount of a resource. */
export function amount<T extends number | undefined>(fallback: T): Option<number | T> {
  return { allowed: AMOUNT_ALLOWED, fallback, check: checkAmount };
}

const AMOUNT_ALLOWED = `a number from 0 to ${AMOUNT_MAX} in steps of ${1 / RESOURCE_UNIT} is needed`;

function checkAmount(value: unknown): "ok" | "wrong type" | "out of range" {
  if (typeof value !== "number") return "wrong type";
  if (!(value >= 0 && value <= AMOUNT_MAX)) return "out of range";
  const units = value * RESOURCE_UNIT;
  // 0.0003 * 10000 is 2.9999999999999996: what a double cannot hold is no finer step.
  const tolerance = 1e-6 + units * Number.EPSILON * 4;
  return Math.abs(units - Math.round(units)) <= tolerance ? "ok" : "out of range";
}

/** Custom resources by name. `instead` are the names that have an option of their own, `builtIn` those that are allowed all the same. */
export function customResources(
  instead: Readonly<Record<string, string>>,
  builtIn: readonly string[] = [],
): Option<Readonly<Record<string, number>>> {
  return {
    allowed: "an object of names and amounts, such as { tpu: 1 }, is needed",
    fallback: {},
    check: (value) => {
      if (!isPlainObject(value)) return "wrong type";
      for (const [name, given] of Object.entries(value)) {
        const option = builtIn.includes(name) ? undefined : instead[name.toLowerCase()];
        if (option !== undefined) return { reason: `${JSON.stringify(name)} is not a custom resource: use ${option}`, error: "wrong type" };
        // A comma would end the resource in the name of a shape.
        if (name === "" || name.length > NAME_LENGTH_MAX || name.includes(",")) {
          return {
            reason: `the name of a resource is text of 1 to ${NAME_LENGTH_MAX} characters without commas: not ${describeValue(name)}`,
            error: "out of range",
          };
        }
        const verdict = given === undefined ? "wrong type" : checkAmount(given);
        if (verdict !== "ok") return { reason: `for ${JSON.stringify(name)} ${AMOUNT_ALLOWED}`, error: verdict };
      }
      return "ok";
    },
  };
}

/** Any value that a predicate accepts. */
export function custom<T>(allowed: string, fallback: T, check: Option<T>["check"]): Option<T> {
  return { allowed, fallback, check };
}

/** Whether a value is an object literal, or as good as one: not an array, not an instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm has that realm's Object.prototype, whose own prototype is null too.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The options that are set: `undefined` is as good as absent. Names and values are checked. */
export function checkedOptions(given: unknown, table: OptionTable, subject: OptionSubject): Record<string, unknown> {
  if (given === undefined) return {};
  if (!isPlainObject(given)) {
    throw new TypeError(
      `Cannot ${subject.set} options of ${subject.of}: an object such as { ${Object.keys(table)[0]}: ... } is needed: received ${describeValue(given)}`,
    );
  }
  const set: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const option = Object.hasOwn(table, name) ? table[name] : undefined;
    if (option === undefined) throw unknownOption(name, Object.keys(table), subject);
    if (value === undefined) continue;
    const verdict = option.check(value);
    if (verdict !== "ok") throw refusedValue(name, { value, option, verdict }, subject);
    set[name] = value;
  }
  return set;
}

/** Every option of a public type has a row, and every row belongs to an option. */
export type TableOf<Options> = { readonly [K in keyof Required<Options>]: Option<unknown> };

/** Each option of a table: the value that is set, or the default. */
export function withDefaults<T extends OptionTable>(set: Readonly<Record<string, unknown>>, table: T): OptionValues<T> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(table)) values[name] = Object.hasOwn(set, name) ? set[name] : option.fallback;
  return values as OptionValues<T>;
}

/** The values of options: each that is given, checked, and the default of every other. @throws TypeError, RangeError that name the option and what is allowed */
export function readOptions<T extends OptionTable>(given: unknown, table: T, subject: OptionSubject): OptionValues<T> {
  return withDefaults(checkedOptions(given, table, subject), table);
}

function refusedValue(
  name: string,
  refused: { value: unknown; option: Option<unknown>; verdict: ReturnType<Option<unknown>["check"]> },
  subject: OptionSubject,
): Error {
  const { value, option, verdict } = refused;
  const { reason, error } = typeof verdict === "string" ? { reason: option.allowed, error: verdict } : verdict;
  const message = `Cannot ${subject.set} ${name} of ${subject.of}: ${reason}: received ${describeValue(value)}`;
  return error === "out of range" ? new RangeError(message) : new TypeError(message);
}

function unknownOption(name: string, known: readonly string[], subject: OptionSubject): TypeError {
  const start = `Cannot ${subject.set} options of ${subject.of}: there is no option ${JSON.stringify(name.slice(0, 100))}`;
  const otherName = Object.hasOwn(subject.otherNames, name) ? subject.otherNames[name] : undefined;
  if (otherName !== undefined) return new TypeError(`${start}: ${otherName}`);
  const respelled = known.find((candidate) => candidate.toLowerCase() === name.replaceAll("_", "").toLowerCase());
  if (respelled !== undefined) return new TypeError(`${start}: it is spelled ${respelled}`);
  const near = nearNames(name, known);
  if (near.length > 0) return new TypeError(`${start}: did you mean ${near.join(" or ")}?`);
  return new TypeError(`${start}: there are ${known.join(", ")}`);
}
