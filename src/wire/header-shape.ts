/**
 * Shapes of headers: whether what came from another machine is what its type says, before anything is done with it.
 *
 * A decoded header can be any plain data. Whoever passes it on by its declared type would find out late that it is not, in a timer or in the middle of
 * a change. A shape is a function that says yes or no; fields that it does not name may be there, as a later version may have more.
 */
export type Shape = (value: unknown) => boolean;

export const anything: Shape = () => true;
export const text: Shape = (value) => typeof value === "string";
export const flag: Shape = (value) => typeof value === "boolean";
export const number: Shape = (value) => typeof value === "number" && Number.isFinite(value);

/** The id of a process, a node or an actor. */
export const id: Shape = (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value);

export function optional(shape: Shape): Shape {
  return (value) => value === undefined || shape(value);
}

export function exactly(...values: readonly unknown[]): Shape {
  return (value) => values.includes(value);
}

export function list(shape: Shape): Shape {
  return (value) => Array.isArray(value) && value.every(shape);
}

/** What is behind the last shape may be there or not. */
export function tuple(...shapes: readonly Shape[]): Shape {
  return (value) => Array.isArray(value) && shapes.every((shape, index) => shape(value[index]));
}

export function record(shape: Shape): Shape {
  return (value) => isObject(value) && Object.values(value).every(shape);
}

export function fields(shapes: Readonly<Record<string, Shape>>): Shape {
  const entries = Object.entries(shapes);
  return (value) => isObject(value) && entries.every(([name, shape]) => shape(Object.hasOwn(value, name) ? value[name] : undefined));
}

/** The name of a file of the store: no path. */
export const arenaName: Shape = (value) => typeof value === "string" && /^[\w-]{1,128}$/.test(value);

export const location: Shape = tuple(arenaName, number, number, exactly("memory", "disk"));

const stored = fields({ id: text, owner: text, location });

/** A value that follows in the body, or lies in a store. */
export const payload: Shape = fields({
  inBand: number,
  buffers: list(number),
  graph: flag,
  error: flag,
  definitions: list(text),
  refs: list(tuple(text, text)),
  stored: optional(stored),
});

export const definition: Shape = fields({
  id: text,
  contentId: text,
  name: text,
  inBand: number,
  buffers: list(number),
  dependencies: list(text),
  refs: list(tuple(text, text)),
  stored: optional(stored),
});

/** What two ends of a link pass on: who says it, to whom, and the message. */
export const routed: Shape = tuple(text, text, number, number, number);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Map) && !ArrayBuffer.isView(value);
}
