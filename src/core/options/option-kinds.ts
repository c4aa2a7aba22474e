/**
 * The kinds of options: accepted values, default, and the error for other values.
 *
 * An option is a row of a table in `options.ts`; `readOptions` holds given values against such a table. Unknown names and values of a wrong
 * type are a `TypeError`, values out of range a `RangeError`. Both name the option, the allowed and the received value.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { errorOf, type Fault, outOfRange, wrongType } from "../../runtime/base/fault.ts";
import { TIMER_MS_MAX } from "../../runtime/base/limits.ts";
import { RESOURCE_UNIT } from "../../runtime/base/resources.ts";
import { AMOUNT_MAX, NAME_LENGTH_MAX } from "../limits.ts";
import { nearNames } from "../../runtime/base/texts/near-names.ts";

/** The result of a check. A `Fault` has a more precise message than `allowed`. */
export type Verdict = "ok" | Fault["error"] | Fault;

/** A row of a table of options. */
export interface Option<T> {
  /** The allowed values, worded to follow "Cannot set numCpus of a task:". */
  readonly allowed: string;
  readonly fallback: T;
  check(value: unknown): Verdict;
  /** Converts a given value. Default: the value itself. */
  meaning?(value: unknown): T;
}

/** The options of one thing, whose values are `Values`. */
export interface OptionSet<Values extends object> {
  /** The owner of the options: messages begin "Cannot set numCpus `of`: ...". */
  readonly of: string;
  /** Other programs' names for our options, besides those that differ in their spelling alone. */
  readonly otherNames?: Readonly<Record<string, string>>;
  readonly options: { readonly [K in keyof Values]: Option<Values[K]> };
}

type AnyOptionSet = OptionSet<Readonly<Record<string, unknown>>>;

/** The values of options, all of which have a default, but for those that may be undefined. */
export type WithDefaults<Options, MayBeUndefined = never> = {
  readonly [K in keyof Options]-?: K extends MayBeUndefined ? Options[K] | undefined : Exclude<Options[K], undefined>;
};

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

/** A name from a list. */
export function oneOf<const T extends string>(allowed: readonly T[], fallback: T): Option<T> {
  return {
    allowed: `${allowed.map((name) => JSON.stringify(name)).join(" or ")} is needed`,
    fallback,
    check: (value) => (typeof value !== "string" ? "wrong type" : (allowed as readonly string[]).includes(value) ? "ok" : "out of range"),
  };
}

/** A number that a predicate accepts. */
export function number<T>(allowed: string, fallback: T, isAllowed: (value: number) => boolean): Option<number | T> {
  return custom<number | T>(allowed, fallback, (value) =>
    typeof value !== "number" ? "wrong type" : isAllowed(value) ? "ok" : "out of range",
  );
}

function isWhole(value: number, { min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

/** A whole number; where -1 is allowed it means without end. */
export function count<T extends number | undefined>(range: { min: number; max?: number }, fallback: T): Option<number | T> {
  const upTo = range.max === undefined ? "" : ` to ${range.max}`;
  const allowed = `a whole number from ${range.min}${upTo} is needed${range.min === -1 ? " (-1: without end)" : ""}`;
  return number(allowed, fallback, (value) => isWhole(value, range));
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
  const allowed = "a whole number from 1, or Infinity, is needed";
  return number(allowed, undefined, (value) => value === Number.POSITIVE_INFINITY || isWhole(value, { min: 1 }));
}

/** A part of a whole. */
export function fraction(fallback: number): Option<number> {
  return number("a number above 0 and up to 1 is needed", fallback, (value) => value > 0 && value <= 1);
}

/** A size in bytes. */
export function bytes<T extends number | undefined>({ min }: { min: number }, fallback: T): Option<number | T> {
  const allowed = `a whole number of bytes from ${min} to ${AMOUNT_MAX} is needed`;
  return number(allowed, fallback, (value) => isWhole(value, { min, max: AMOUNT_MAX }));
}

/** A time in milliseconds; fractions are allowed. */
export function milliseconds(fallback: number): Option<number> {
  return number(`${TIME_ALLOWED} is needed`, fallback, isTime);
}

/** A time in milliseconds after which to stop; `Infinity` is never, as is the default. */
export function timeLimit(): Option<number | undefined> {
  const limit = number(
    `${TIME_ALLOWED}, or Infinity, is needed`,
    undefined,
    (value) => value === Number.POSITIVE_INFINITY || isTime(value),
  );
  return { ...limit, meaning: (value) => (value === Number.POSITIVE_INFINITY ? undefined : (value as number | undefined)) };
}

const TIME_ALLOWED = `a number of milliseconds from 0 to ${TIMER_MS_MAX}`;

function isTime(value: number): boolean {
  return value >= 0 && value <= TIMER_MS_MAX;
}

/** An amount of a resource. */
export function amount<T extends number | undefined>(fallback: T): Option<number | T> {
  return number(AMOUNT_ALLOWED, fallback, isAmount);
}

const AMOUNT_ALLOWED = `a number from 0 to ${AMOUNT_MAX} in steps of ${1 / RESOURCE_UNIT} is needed`;

function isAmount(value: number): boolean {
  if (!(value >= 0 && value <= AMOUNT_MAX)) return false;
  const units = value * RESOURCE_UNIT;
  // 0.0003 * 10000 is 2.9999999999999996: the error of a double does not count as a finer step.
  const tolerance = 1e-6 + units * Number.EPSILON * 4;
  return Math.abs(units - Math.round(units)) <= tolerance;
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
        if (option !== undefined) return wrongType(`${JSON.stringify(name)} is not a custom resource: use ${option}`);
        // A comma would end the resource in the name of a shape.
        if (name === "" || name.length > NAME_LENGTH_MAX || name.includes(",")) {
          return outOfRange(
            `the name of a resource is text of 1 to ${NAME_LENGTH_MAX} characters without commas: not ${describeValue(name)}`,
          );
        }
        const fault = faultOf(amount(undefined), given);
        if (fault !== undefined) return { ...fault, reason: `for ${JSON.stringify(name)} ${fault.reason}` };
      }
      return "ok";
    },
  };
}

/** An optional object literal. The reader of the option checks its members. */
export function plainObject<T extends object = object>(allowed: string): Option<T | undefined> {
  return custom<T | undefined>(allowed, undefined, (value) => (isPlainObject(value) ? "ok" : "wrong type"));
}

/** A list of texts. */
export function texts<T extends readonly string[] | undefined>(allowed: string, fallback: T): Option<readonly string[] | T> {
  return custom<readonly string[] | T>(allowed, fallback, (value) =>
    Array.isArray(value) && value.every((item) => typeof item === "string") ? "ok" : "wrong type",
  );
}

/** A function, or none. */
export function callable<T>(allowed: string): Option<T | undefined> {
  return custom<T | undefined>(allowed, undefined, (value) => (typeof value === "function" ? "ok" : "wrong type"));
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

/** Returns the problem of a value; undefined if there is none. */
export function faultOf({ allowed, check }: Pick<Option<unknown>, "allowed" | "check">, value: unknown): Fault | undefined {
  const verdict = check(value);
  if (verdict === "ok") return undefined;
  return typeof verdict === "string" ? { reason: allowed, error: verdict } : verdict;
}

/** The options that are set: `undefined` is as good as absent. Names and values are checked. */
export function checkedOptions(given: unknown, { of, otherNames = {}, options }: AnyOptionSet): Record<string, unknown> {
  if (given === undefined) return {};
  if (!isPlainObject(given)) {
    throw new TypeError(
      `Cannot set options of ${of}: an object such as { ${Object.keys(options)[0]}: ... } is needed: received ${describeValue(given)}`,
    );
  }
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined)
      throw new TypeError(
        `Cannot set options of ${of}: there is no option ${JSON.stringify(name.slice(0, 100))}: ${whatInstead(name, Object.keys(options), otherNames)}`,
      );
    if (value === undefined) continue;
    const fault = faultOf(option, value);
    if (fault !== undefined) throw errorOf(fault, `Cannot set ${name} of ${of}: ${fault.reason}: received ${describeValue(value)}`);
    checked[name] = value;
  }
  return checked;
}

/** Every option of a public type has a row, and every row belongs to an option. */
export type TableOf<Options> = { readonly [K in keyof Required<Options>]: Option<unknown> };

/** Returns the value of each option of a set: the converted given value, or the default. */
export function withDefaults<Values extends object>(given: Readonly<Record<string, unknown>>, set: OptionSet<Values>): Values {
  const values: Record<string, unknown> = {};
  for (const [name, { fallback, meaning }] of Object.entries(set.options as AnyOptionSet["options"])) {
    const value = Object.hasOwn(given, name) ? given[name] : fallback;
    values[name] = meaning === undefined ? value : meaning(value);
  }
  return values as Values;
}

/** The values of options: each that is given, checked, and the default of every other. @throws TypeError, RangeError that name the option and what is allowed */
export function readOptions<Values extends object>(given: unknown, set: OptionSet<Values>): Values {
  return withDefaults(checkedOptions(given, set as AnyOptionSet), set);
}

function whatInstead(name: string, known: readonly string[], otherNames: Readonly<Record<string, string>>): string {
  if (Object.hasOwn(otherNames, name)) return otherNames[name] as string;
  const respelled = known.find((candidate) => candidate.toLowerCase() === name.replaceAll("_", "").toLowerCase());
  if (respelled !== undefined) return `it is spelled ${respelled}`;
  const near = nearNames(name, known);
  return near.length > 0 ? `did you mean ${near.join(" or ")}?` : `there are ${known.join(", ")}`;
}
