/**
 * Metrics that runs report: named values of JSON.
 *
 * NaN and the infinities are allowed, because losses reach them; files hold them the way Python's `json` writes and reads them. Other values without a JSON form are refused by
 * their path, so that nothing is lost on the way to a file.
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import { METRICS_DEPTH_MAX } from "../limits.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };
export type Metrics = Record<string, JsonValue>;

/**
 * Metrics as they are kept: a copy, without properties that are `undefined`.
 *
 * @param where - the failed operation: `"Cannot report"`
 * @throws TypeError that names the path of a value that JSON cannot represent
 */
export function checkMetrics(value: unknown, where: string): Metrics {
  if (!isPlainObject(value)) throw new TypeError(`${where}: an object such as { loss: 0.5 } is needed: received ${describeValue(value)}`);
  return checkedObject(value, { where, path: "", depth: 0 });
}

interface Place {
  readonly where: string;
  readonly path: string;
  readonly depth: number;
}

function checkedObject(value: Readonly<Record<string, unknown>>, place: Place): Metrics {
  const checked: Metrics = {};
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const path = place.path === "" ? name : `${place.path}.${name}`;
    // Not by assignment: `__proto__` is a name like any other.
    Object.defineProperty(checked, name, {
      value: checkedValue(member, { ...place, path, depth: place.depth + 1 }),
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
  return checked;
}

function checkedValue(value: unknown, place: Place): JsonValue {
  const { where, path, depth } = place;
  if (depth > METRICS_DEPTH_MAX) throw new TypeError(`${where}: ${path.slice(0, 100)} is nested more than ${METRICS_DEPTH_MAX} times`);
  if (value === null || typeof value === "boolean" || typeof value === "number" || typeof value === "string") return value;
  if (Array.isArray(value))
    return Array.from(value, (item: unknown, i) => checkedValue(item, { ...place, path: `${path}[${i}]`, depth: depth + 1 }));
  if (isPlainObject(value)) return checkedObject(value, place);
  throw new TypeError(`${where}: ${path} must be a value of JSON${hintFor(value)}: received ${describeValue(value)}`);
}

function hintFor(value: unknown): string {
  if (typeof value === "bigint") return " (Number(value) makes a number of it)";
  if (value instanceof Date) return " (value.toISOString() makes a text of it)";
  if (ArrayBuffer.isView(value)) return " (Array.from(value) makes a list of it; large arrays belong into a checkpoint)";
  return "";
}

/** Metrics as one line of JSON, with `NaN`, `Infinity` and `-Infinity` as Python writes them. */
export function metricsText(value: JsonValue): string {
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(metricsText).join(",")}]`;
  const members = Object.entries(value as Metrics).map(([name, member]) => `${JSON.stringify(name)}:${metricsText(member)}`);
  return `{${members.join(",")}}`;
}

/** Stands for a number that JSON does not have while a text is read. */
const MARK = "\u0000number:";

/** @throws SyntaxError */
export function parseMetrics(text: string): JsonValue {
  if (!/NaN|Infinity/.test(text)) return JSON.parse(text) as JsonValue;
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (found) =>
    found.startsWith('"') ? found : JSON.stringify(MARK + found),
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? Number(value.slice(MARK.length)) : value,
  ) as JsonValue;
}

/** Nested metrics by their paths with slashes: `{ a: { b: 1 } }` is `a/b`. Lists stay whole. */
export function flatMetrics(metrics: Metrics): Map<string, Exclude<JsonValue, Metrics>> {
  const flat = new Map<string, Exclude<JsonValue, Metrics>>();
  const add = (prefix: string, value: JsonValue): void => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) flat.set(prefix, value as Exclude<JsonValue, Metrics>);
    else for (const [name, member] of Object.entries(value)) add(prefix === "" ? name : `${prefix}/${name}`, member);
  };
  add("", metrics);
  return flat;
}
