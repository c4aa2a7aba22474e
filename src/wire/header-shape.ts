/**
 * Shapes of headers: whether what came from another process is what its type says, before anything is done with it.
 *
 * A decoded header can be any plain data. Code that passes it on by its declared type would find out late that it is not, in a timer or in the middle of
 * a change. A shape is a function that says yes or no; fields that it does not name may be there, as a later version may have more. `problemOf` says which part
 * of a header that was refused is wrong.
 */
import { describeValue } from "../base/describe.ts";

export interface Shape {
  (value: unknown): boolean;
  /** What is wrong with a value that is not of this shape, behind the path to it. Absent for leaves. */
  readonly problem?: (value: unknown, path: string) => string;
  /** What a leaf takes, for messages. */
  readonly wanted?: string;
}

/** Why a value is not of a shape, in words for people; asked only after the shape has said no. */
export function problemOf(shape: Shape, value: unknown, path = "its header"): string {
  if (shape.problem !== undefined) return shape.problem(value, path);
  return `${path} is not ${shape.wanted ?? "what it should be"}: received ${describeValue(value)}`;
}

/** A shape without parts. */
export function leaf(wanted: string, test: (value: unknown) => boolean): Shape {
  return Object.assign(test, { wanted });
}

export const anything: Shape = leaf("anything", () => true);
/** Messages without a header. */
export const nothing: Shape = leaf("absent", (value) => value === undefined || value === null);
export const text: Shape = leaf("a string", (value) => typeof value === "string");
export const flag: Shape = leaf("a boolean", (value) => typeof value === "boolean");
export const number: Shape = leaf("a finite number", (value) => typeof value === "number" && Number.isFinite(value));
/** A number of things or bytes. */
export const count: Shape = leaf("a whole number from 0 on", (value) => Number.isSafeInteger(value) && (value as number) >= 0);

/** The id of a process, a node or an actor. */
export const id: Shape = leaf("an id of 32 hexadecimal digits", (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value));

export function optional(shape: Shape): Shape {
  const problem = (value: unknown, path: string): string => problemOf(shape, value, path);
  return Object.assign((value: unknown) => value === undefined || shape(value), { problem });
}

export function exactly(...values: readonly unknown[]): Shape {
  return leaf(`one of ${values.map((value) => JSON.stringify(value)).join(", ")}`, (value) => values.includes(value));
}

/** @returns a shape of which any of these is one */
export function either(...shapes: readonly [Shape, ...Shape[]]): Shape {
  const problem = (value: unknown, path: string): string => problemOf(shapes[0], value, path);
  return Object.assign((value: unknown) => shapes.some((shape) => shape(value)), { problem });
}

export function list(shape: Shape): Shape {
  const problem = (value: unknown, path: string): string => {
    if (!Array.isArray(value)) return `${path} is not a list: received ${describeValue(value)}`;
    const at = value.findIndex((item) => !shape(item));
    return problemOf(shape, value[at], `${path}[${at}]`);
  };
  const test = (value: unknown): boolean => {
    if (!Array.isArray(value)) return false;
    for (const item of value) if (!shape(item)) return false;
    return true;
  };
  return Object.assign(test, { problem });
}

/** What is behind the last shape may be there or not. */
export function tuple(...shapes: readonly Shape[]): Shape {
  const problem = (value: unknown, path: string): string => {
    if (!Array.isArray(value)) return `${path} is not a list: received ${describeValue(value)}`;
    const at = shapes.findIndex((shape, index) => !shape(value[index]));
    return problemOf(shapes[at] as Shape, value[at], `${path}[${at}]`);
  };
  // A loop: batches have thousands of rows.
  const test = (value: unknown): boolean => {
    if (!Array.isArray(value)) return false;
    for (let index = 0; index < shapes.length; index += 1) if (!(shapes[index] as Shape)(value[index])) return false;
    return true;
  };
  return Object.assign(test, { problem });
}

export function record(shape: Shape): Shape {
  const problem = (value: unknown, path: string): string => {
    if (!isObject(value)) return `${path} is not an object: received ${describeValue(value)}`;
    const [name, wrong] = Object.entries(value).find(([, part]) => !shape(part)) as [string, unknown];
    return problemOf(shape, wrong, `${path}.${name}`);
  };
  return Object.assign((value: unknown) => isObject(value) && Object.values(value).every(shape), { problem });
}

export function fields(shapes: Readonly<Record<string, Shape>>): Shape {
  const entries = Object.entries(shapes);
  const partOf = (value: object, name: string): unknown =>
    Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
  const problem = (value: unknown, path: string): string => {
    if (!isObject(value)) return `${path} is not an object: received ${describeValue(value)}`;
    const [name, shape] = entries.find(([field, part]) => !part(partOf(value, field))) as [string, Shape];
    return problemOf(shape, partOf(value, name), `${path}.${name}`);
  };
  return Object.assign((value: unknown) => isObject(value) && entries.every(([name, shape]) => shape(partOf(value, name))), { problem });
}

/** The name of a file of the store: no path. */
export const arenaName: Shape = leaf(
  "the name of a file of the store",
  (value) => typeof value === "string" && /^[\w-]{1,128}$/.test(value),
);

export const location: Shape = tuple(arenaName, count, count, exactly("memory", "disk"));

const stored = fields({ id: text, owner: text, location });
const refs = list(tuple(text, text));

/** A value that follows in the body, or lies in a store. */
export const payload: Shape = fields({
  inBand: count,
  buffers: list(count),
  graph: flag,
  error: flag,
  definitions: list(text),
  refs,
  stored: optional(stored),
});

export const definition: Shape = fields({
  id: text,
  contentId: text,
  name: text,
  inBand: number,
  buffers: list(count),
  dependencies: list(text),
  refs,
  stored: optional(stored),
  reference: optional(text),
});

/** What two ends of a link pass on: who says it, to whom, and the message. */
export const routed: Shape = tuple(text, text, number, number, number);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Map) && !ArrayBuffer.isView(value);
}
