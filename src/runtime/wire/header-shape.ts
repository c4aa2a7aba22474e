/**
 * Shapes of headers: check that data from another process matches its type before anything uses it.
 *
 * A decoded header can be any plain data. Code that passed it on by its declared type would find a mismatch late, in a timer or in the
 * middle of a change. A shape is a type guard, and the type of a header follows from its shape (`Of`): each is written once, and no header
 * is cast. Unknown fields are allowed, as a later version may have more. `problemOf` names the wrong part of a refused header.
 */
import { describeValue } from "../base/texts/describe.ts";
import { type ActorId, isEnvironmentKey, type JobId, type NodeId, type NodeTag, type ObjectId, type ProcessId } from "../base/ids.ts";
import { isLeaseSpec } from "../scheduling/lease-spec.ts";

export interface Shape<T = unknown> {
  (value: unknown): value is T;
  /** Describes the mismatch of a value, after the path to it. Absent for leaves. */
  readonly problem?: (value: unknown, path: string) => string;
  /** Names the expected value of a leaf in messages. */
  readonly wanted?: string;
  /** How PROTOCOL.md writes it. Nobody asks while a program runs. */
  readonly describe: () => string;
  /** A field or a place in a list that may be absent. */
  readonly isOptional?: true;
  /** Set on a shape that PROTOCOL.md names: describes the content behind the name. */
  readonly describeWhole?: () => string;
}

/** A field, or a last place of a list, that the sender may leave out. */
interface Optional<T = unknown> extends Shape<T | undefined> {
  readonly isOptional: true;
}

/** The type that a shape is a guard of. */
export type Of<S> = S extends Shape<infer T> ? T : never;

type Parts = Readonly<Record<string, Shape>>;
type FieldsOf<S extends Parts> = Flat<
  { -readonly [K in keyof S as S[K] extends Optional ? never : K]: Of<S[K]> } & {
    -readonly [K in keyof S as S[K] extends Optional ? K : never]?: Of<S[K]>;
  }
>;
/** An intersection as one type, for messages of the compiler. */
type Flat<T> = { [K in keyof T]: T[K] };
type PlacesOf<S extends readonly Shape[]> = S extends readonly [infer First, ...infer Rest extends readonly Shape[]]
  ? First extends Optional<infer T>
    ? [T?, ...PlacesOf<Rest>]
    : [Of<First>, ...PlacesOf<Rest>]
  : [];

/** A shape that PROTOCOL.md describes once, under a name. */
export function named<T>(name: string, shape: Shape<T>): Shape<T> {
  return Object.assign(shape, { describe: () => name, describeWhole: shape.describe });
}

/** Explains to people why a value is not of a shape; called only after the shape has refused it. */
export function problemOf(shape: Shape, value: unknown, path = "its header"): string {
  if (shape.problem !== undefined) return shape.problem(value, path);
  return `${path} is not ${shape.wanted ?? "what it should be"}: received ${describeValue(value)}`;
}

/** Makes a shape without parts. `word`: its name in PROTOCOL.md, if that differs from the one in messages. */
export function leaf<T>(wanted: string, test: (value: unknown) => boolean, word: string = wanted): Shape<T> {
  return Object.assign(test as (value: unknown) => value is T, { wanted, describe: () => word });
}

/** Accepts anything: the user of the field checks it, or it only returns to its origin. */
export function unchecked<T>(): Shape<T> {
  return leaf("anything", () => true, "any");
}

/** Messages without a header. */
export const nothing = leaf<undefined>("absent", (value) => value === undefined || value === null, "–");
export const text = textOf("text");
export const flag = leaf<boolean>("a boolean", (value) => typeof value === "boolean", "boolean");
export const number = leaf<number>("a finite number", (value) => typeof value === "number" && Number.isFinite(value), "number");
/** A number of things or bytes. */
export const count = leaf<number>("a whole number from 0 on", (value) => Number.isSafeInteger(value) && (value as number) >= 0, "count");

export function textOf<T extends string = string>(word: string): Shape<T> {
  return leaf("a string", (value) => typeof value === "string", word);
}

function idOf<T extends string>(word: string): Shape<T> {
  return leaf("an id of 32 hexadecimal digits", (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value), word);
}

export const processId = idOf<ProcessId>("process id");
export const nodeId = idOf<NodeId>("node id");
export const actorId = idOf<ActorId>("actor id");
export const objectId = textOf<ObjectId>("object id");
export const jobId = textOf<JobId>("job id");
export const nodeTag = textOf<NodeTag>("node tag");
export const leaseSpec = leaf<string>("the text of a lease's shape", isLeaseSpec, "lease shape");
export const environmentKey = leaf<string>("the key of a runtime environment", isEnvironmentKey, "environment key");

/** Accepts undefined, which the sender has to write explicitly. */
export function orUndefined<T>(shape: Shape<T>): Shape<T | undefined> {
  const problem = (value: unknown, path: string): string => problemOf(shape, value, path);
  return Object.assign((value: unknown): value is T | undefined => value === undefined || shape(value), {
    problem,
    describe: shape.describe,
    isOptional: true as const,
  });
}

/** The same of a field, or of a place at the end of a list, that its sender may leave out. */
export function optional<T>(shape: Shape<T>): Optional<T> {
  return orUndefined(shape) as Optional<T>;
}

/** With a question mark where it may be absent. */
function describePlace(shape: Shape): string {
  return `${shape.describe()}${shape.isOptional === true ? "?" : ""}`;
}

export function exactly<const V extends readonly unknown[]>(...values: V): Shape<V[number]> {
  const written = values.map((value) => JSON.stringify(value));
  return leaf(`one of ${written.join(", ")}`, (value) => values.includes(value), written.join(" | "));
}

/** @returns a shape of which any of these is one */
export function either<T extends readonly [unknown, ...unknown[]]>(...shapes: { readonly [K in keyof T]: Shape<T[K]> }): Shape<T[number]> {
  const problem = (value: unknown, path: string): string => problemOf(shapes[0], value, path);
  return Object.assign((value: unknown): value is T[number] => shapes.some((shape) => shape(value)), {
    problem,
    describe: () => shapes.map((shape) => shape.describe()).join(" | "),
  });
}

export function list<T>(shape: Shape<T>): Shape<T[]> {
  const problem = (value: unknown, path: string): string => {
    if (!Array.isArray(value)) return `${path} is not a list: received ${describeValue(value)}`;
    const at = value.findIndex((item) => !shape(item));
    return problemOf(shape, value[at], `${path}[${at}]`);
  };
  const test = (value: unknown): value is T[] => {
    if (!Array.isArray(value)) return false;
    for (const item of value) if (!shape(item)) return false;
    return true;
  };
  return Object.assign(test, { problem, describe: () => `[${describePlace(shape)}, ...]` });
}

/** A list that its holder does not change. */
export const readonlyList = list as <T>(shape: Shape<T>) => Shape<readonly T[]>;

/** Places after the last shape are allowed. */
export function tuple<S extends readonly Shape[]>(...shapes: S): Shape<PlacesOf<S>> {
  const problem = (value: unknown, path: string): string => {
    if (!Array.isArray(value)) return `${path} is not a list: received ${describeValue(value)}`;
    const at = shapes.findIndex((shape, index) => !shape(value[index]));
    return problemOf(shapes[at] as Shape, value[at], `${path}[${at}]`);
  };
  // A loop: batches have thousands of rows.
  const test = (value: unknown): value is PlacesOf<S> => {
    if (!Array.isArray(value)) return false;
    for (let index = 0; index < shapes.length; index += 1) if (!(shapes[index] as Shape)(value[index])) return false;
    return true;
  };
  return Object.assign(test, { problem, describe: () => `[${shapes.map(describePlace).join(", ")}]` });
}

export function record<T>(shape: Shape<T>): Shape<Record<string, T>> {
  const problem = (value: unknown, path: string): string => {
    if (!isObject(value)) return `${path} is not an object: received ${describeValue(value)}`;
    const [name, wrong] = Object.entries(value).find(([, part]) => !shape(part)) as [string, unknown];
    return problemOf(shape, wrong, `${path}.${name}`);
  };
  const test = (value: unknown): value is Record<string, T> => isObject(value) && Object.values(value).every((part) => shape(part));
  return Object.assign(test, { problem, describe: () => `{ [name]: ${shape.describe()} }` });
}

export function fields<S extends Parts>(shapes: S): Shape<FieldsOf<S>> {
  const entries = Object.entries<Shape>(shapes);
  const names = entries.map(([name]) => name);
  const parts = entries.map(([, part]) => part);
  // So that no header has a field that it was not sent with.
  const inherited = names.find((name) => name in Object.prototype);
  if (inherited !== undefined) throw new RangeError(`Cannot name a field of a header ${inherited}: every object has that`);
  const problem = (value: unknown, path: string): string => {
    if (!isObject(value)) return `${path} is not an object: received ${describeValue(value)}`;
    const [name, shape] = entries.find(([field, part]) => !part(value[field])) as [string, Shape];
    return problemOf(shape, value[name], `${path}.${name}`);
  };
  // A loop over two lists: calls with references are checked here, one by one.
  const test = (value: unknown): value is FieldsOf<S> => {
    if (!isObject(value)) return false;
    for (let index = 0; index < parts.length; index += 1) if (!(parts[index] as Shape)(value[names[index] as string])) return false;
    return true;
  };
  const describe = (): string =>
    `{ ${entries.map(([name, part]) => `${name}${part.isOptional === true ? "?" : ""}: ${part.describe()}`).join(", ")} }`;
  return Object.assign(test, { problem, describe });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Map) && !ArrayBuffer.isView(value);
}
