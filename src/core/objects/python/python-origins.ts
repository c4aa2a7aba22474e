/**
 * The Python origins of objects: an array here may have been a tuple, and there are sets, moments with microseconds and instances of dataclasses.
 *
 * Decides which objects Python gets back in their original form when TypeScript passes them on. Owns the table of origins, which keeps no object alive. Invariant: a
 * passed object has its present content; if the content no longer fits the origin, the object is plain data.
 */
import type { Reduced } from "../../../runtime/wire/value/encode.ts";
import { ArrowData } from "../values/foreign-data.ts";
import { PythonValue } from "./python-values.ts";

interface Origin {
  kind: number;
  /** The parts of the payload, the object among them; undefined where the object is the payload. */
  parts: readonly unknown[] | undefined;
  /** Whether the object, as it is now, still is what came. */
  fits: (value: object) => boolean;
}

const origins = new WeakMap<object, Origin>();

const always = (): boolean => true;

/** Ways of docs/value-format.md whose value is made of the plain form as it is now. */
const OF_CONTENT: ReadonlySet<unknown> = new Set([
  "batch",
  "bytearray",
  "bytes",
  "frozenset",
  "items",
  "lost",
  "parameter",
  "set",
  "uint8",
]);

/** Remembers the origin of a decoded tuple. @returns the array */
export function tupleFrom(kind: number, items: unknown): unknown {
  if (Array.isArray(items)) origins.set(items, { kind, parts: undefined, fits: always });
  return items;
}

/** Remembers the class of a decoded dataclass instance or named tuple. @returns its plain value */
export function namedFrom(kind: number, payload: unknown): unknown {
  const parts = payload as readonly unknown[];
  const plain = parts[2];
  if (isObject(plain)) {
    const size = Object.keys(plain).length;
    const names = Array.isArray(plain) ? undefined : Object.keys(plain);
    const fits = (value: object): boolean =>
      names === undefined ? (value as unknown[]).length === size : sameNames(Object.keys(value), names);
    origins.set(plain, { kind, parts, fits });
  }
  return plain;
}

/** Why Python refuses a value that was passed on. */
const LOST_HERE =
  "it came through TypeScript, which has only its plain form. Pass its reference instead, or a copy such as { ...value }, which is plain data";

/** Remembers the origin beside a decoded plain value. @returns the plain value */
export function exactFrom(kind: number, payload: unknown): unknown {
  const parts = payload as readonly unknown[];
  const [plain, way, name] = parts;
  if (!isObject(plain)) return plain;
  const fits = OF_CONTENT.has(way) ? always : way === "order" ? hasNames(name) : unchanged(plain, way);
  if (fits !== undefined) origins.set(plain, { kind, parts, fits });
  // A pickle has the value as it was, and the object may have changed since.
  else origins.set(plain, { kind, parts: [plain, "lost", way === "pickle" ? name : "dict", LOST_HERE], fits: always });
  return plain;
}

/** How an object that came from Python goes back there; undefined for all others. */
export function originOf(value: object): Reduced | undefined {
  const origin = origins.get(value);
  if (origin === undefined || !origin.fits(value)) return undefined;
  if (origin.parts === undefined) return { kind: origin.kind, payload: value };
  return { kind: origin.kind, payload: origin.parts };
}

/** A pickled origin is passed back only if the value has not changed since. */
function unchanged(plain: object, way: unknown): ((value: object) => boolean) | undefined {
  if (plain instanceof ArrowData || plain instanceof PythonValue) return always;
  if (plain instanceof Error) {
    const { message } = plain;
    return (value) => (value as Error).message === message;
  }
  if (ArrayBuffer.isView(plain)) return way === "pickle" ? undefined : always;
  if (!(plain instanceof Date)) return undefined;
  const time = plain.getTime();
  return (value) => Object.is((value as Date).getTime(), time);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function hasNames(names: unknown): (value: object) => boolean {
  return (value) => sameNames(Object.keys(value), names as readonly string[]);
}

function sameNames(names: readonly string[], known: readonly string[]): boolean {
  if (names.length !== known.length) return false;
  const all = new Set(known);
  return names.every((name) => all.has(name));
}
