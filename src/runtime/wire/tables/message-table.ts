/**
 * Tables of messages: the shape of each number's header, and its handler.
 *
 * A table of shapes maps each number of one direction to its header. The table of handlers is typed by it, so the compiler finds a message
 * without a handler, and no handler casts. Every direction has one table of each kind; a process has one table of handlers.
 */
import { describeValue } from "../../base/texts/describe.ts";
import type { Frame } from "../frame.ts";
import { headerOf } from "../header.ts";
import { type Of, problemOf, type Shape } from "../header-shape.ts";
import { MESSAGE } from "../messages.ts";
import { DecodeError } from "../value/decode-error.ts";

/** The headers that a table of shapes is of, by the numbers of their messages or the names of their methods. */
export type HeadersOf<Table> = { [N in keyof Table]: Of<Table[N]> };
export type Shapes<Headers> = { readonly [N in keyof Headers]: Shape<Headers[N]> };

/** Handlers of messages, with the receiver's extra arguments after the header. */
export type Handlers<Headers, Rest extends readonly unknown[] = []> = {
  readonly [N in keyof Headers]: (header: Headers[N], ...rest: Rest) => void;
};

/** Methods and their arguments, as HEAD_EVENT and NODE_COMMAND name them. */
type Arguments<Calls> = { readonly [N in keyof Calls]: readonly unknown[] };
/** A call of one of them. */
export type CallOf<Calls extends Arguments<Calls>> = { [N in keyof Calls]: [name: N, ...args: Calls[N]] }[keyof Calls];
/** An object with these methods. */
export type Methods<Calls extends Arguments<Calls>, Result = void> = { readonly [N in keyof Calls]: (...args: Calls[N]) => Result };

/** A message of a table. */
export type MessageOf<Headers> = { [N in keyof Headers]: { readonly type: N; readonly header: Headers[N] } }[keyof Headers];

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(MESSAGE).map(([name, type]) => [type, name]));

/** A message by its name and number, for people. */
export function nameOfMessage(type: number): string {
  const name = NAMES.get(type);
  return name === undefined ? `message ${type}` : `message ${name} (${type})`;
}

/** Why a message is refused; undefined for one that is of the table and well formed. */
export function faultOf<Headers>(shapes: Shapes<Headers>, type: number, header: unknown): string | undefined {
  const shape = shapeOf(shapes, type);
  if (shape === undefined) return `${nameOfMessage(type)} is not one that a process sends to its node`;
  return shape(header) ? undefined : `${nameOfMessage(type)} is malformed: ${problemOf(shape, header)}`;
}

/** Functions that extract something from the headers of some messages. */
export type HeaderExtractors<Headers, Result> = { readonly [N in keyof Headers]?: (header: Headers[N]) => Result };

/** Applies the table to a message whose header has been checked; undefined for messages without an entry. */
export function extractFrom<Headers, Result>(table: HeaderExtractors<Headers, Result>, type: number, header: unknown): Result | undefined {
  return (table as Readonly<Record<number, ((header: unknown) => Result) | undefined>>)[type]?.(header);
}

/** The shape of a message; undefined for one that is not of the table. */
function shapeOf<Headers>(shapes: Shapes<Headers>, type: number): Shape | undefined {
  return (shapes as Readonly<Record<number, Shape>>)[type];
}

/**
 * Returns the header of a frame; undefined if it has none.
 *
 * @throws DecodeError for a message that is malformed, or not of the table: a connection ends by it
 */
export function readHeader<Headers>(shapes: Shapes<Headers>, frame: Pick<Frame, "type" | "header">): unknown {
  const header = headerOf(frame);
  if (!Object.hasOwn(shapes, frame.type)) throw new DecodeError(`${nameOfMessage(frame.type)} is not for this end of the connection`);
  const fault = faultOf(shapes, frame.type, header);
  if (fault !== undefined) throw new DecodeError(fault);
  return header;
}

/** The header of a message whose number is known already. @throws DecodeError for one that is malformed */
export function readAs<Headers, N extends keyof Headers>(shapes: Shapes<Headers>, type: N, frame: Pick<Frame, "header">): Headers[N] {
  const header = headerOf(frame);
  const shape = shapes[type];
  if (!shape(header)) throw new DecodeError(`${nameOfMessage(Number(type))} is malformed: ${problemOf(shape, header)}`);
  return header;
}

/** Hands over a message whose header has been checked. @returns whether the table has a handler */
export function handle<Headers, Rest extends readonly unknown[]>(
  handlers: Partial<Handlers<Headers, Rest>>,
  type: number,
  header: unknown,
  ...rest: Rest
): boolean {
  const handler = (handlers as Readonly<Record<number, (header: unknown, ...rest: Rest) => void>>)[type];
  if (handler === undefined) return false;
  handler(header, ...rest);
  return true;
}

/** @returns the shape of a call of one of these methods */
export function callOf<Calls extends Arguments<Calls>>(shapes: Shapes<Calls>): Shape<CallOf<Calls>> {
  const byName = shapes as Readonly<Record<string, Shape>>;
  const shapeIn = (value: unknown): Shape | undefined =>
    Array.isArray(value) && typeof value[0] === "string" && Object.hasOwn(byName, value[0]) ? byName[value[0]] : undefined;
  const problem = (value: unknown, path: string): string => {
    const shape = shapeIn(value);
    if (shape === undefined) return `${path} names no call: received ${describeValue(Array.isArray(value) ? value[0] : value)}`;
    const [name, ...args] = value as [string, ...unknown[]];
    return problemOf(shape, args, `the arguments of ${name}`);
  };
  const test = (value: unknown): value is CallOf<Calls> => shapeIn(value)?.((value as unknown[]).slice(1)) === true;
  const describe = (): string =>
    Object.entries(byName)
      .map(([name, shape]) => `["${name}", ${shape.describe().replace(/^\[/, "")}`)
      .join(" | ");
  return Object.assign(test, { problem, describe });
}

/** Makes a call whose arguments have been checked. */
export function makeCall<Calls extends Arguments<Calls>, Result = void>(
  target: Methods<Calls, Result>,
  [name, ...args]: CallOf<Calls>,
): Result {
  return (target[name] as (...given: readonly unknown[]) => Result).apply(target, args);
}
