/**
 * Describes any value in a few words for a message, and reads untrusted errors.
 *
 * A thrown or passed value may be a revoked proxy, an object whose getters throw, or a gigabyte of text. Nothing here throws, and nothing
 * returns more than its limit. Used by `errors.ts` and by every message with "received <value>".
 */

const TEXT_MAX = 200;
const DESCRIPTION_MAX = 400;

/** A short text for a value: `5`, `"text"`, `null`, `[1, 2]`, `{"a":1}`, `function parse`, `an instance of Socket`. */
export function describeValue(value: unknown): string {
  try {
    return truncate(describe(value), DESCRIPTION_MAX);
  } catch {
    return "a value that cannot be read";
  }
}

function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      // Cut before it is quoted: the text may be huge.
      return value.length <= TEXT_MAX ? JSON.stringify(value) : `${JSON.stringify(value.slice(0, TEXT_MAX))}… (${value.length} characters)`;
    case "bigint":
      return `${value}n`;
    case "function":
      return value.name === "" ? "a function" : `function ${value.name}`;
    case "object":
      return value === null ? "null" : describeObject(value);
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    default:
      return String(value);
  }
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return describeArray(value);
  if (isErrorLike(value)) return `${errorName(value)}: ${textOf(value, "message") ?? ""}`;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || prototype === Object.prototype;
  if (!isPlain) return `an instance of ${constructorName(value) ?? textOf(value, Symbol.toStringTag) ?? "an unnamed class"}`;
  const names = Object.keys(value);
  const shown = names.slice(0, 5).map((name) => `${name}: ${describeItem((value as Record<string, unknown>)[name])}`);
  if (names.length > shown.length) shown.push("…");
  return shown.length === 0 ? "{}" : `{ ${shown.join(", ")} }`;
}

function describeArray(values: readonly unknown[]): string {
  const shown = values.slice(0, 5).map(describeItem);
  if (values.length > shown.length) shown.push(`… (${values.length} items)`);
  return `[${shown.join(", ")}]`;
}

/** Members are described one level deep: a message is no place for a tree. */
function describeItem(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : "[…]";
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? "{…}" : describe(value);
}

/** Cuts text to a limit in UTF-16 units, and appends the full length. */
export function truncate(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const note = `… (truncated: ${text.length} characters in all)`;
  return text.slice(0, Math.max(0, lengthMax - note.length)) + note;
}

/** Recognizes an `Error` of any realm: tasks run in separate contexts, whose `Error` is another class. */
export function isErrorLike(value: unknown): value is Error {
  if (typeof value !== "object" || value === null) return false;
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
  } catch {
    return false;
  }
}

/** Returns the message of any thrown value. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  return isErrorLike(thrown) ? (textOf(thrown, "message") ?? "") : describeValue(thrown);
}

/** Returns a thrown value as an error. Code of users and of packages throws other values, too: these become the cause. */
export function asError(thrown: unknown): Error {
  return isErrorLike(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown });
}

/** A property of an object when it is text, and `undefined` when it is not or cannot be read. */
export function textOf(target: object, name: string | symbol): string | undefined {
  try {
    const value = (target as Record<string | symbol, unknown>)[name];
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the name to print for an error: the class's, unless `name` was set. */
export function errorName(error: Error): string {
  const name = textOf(error, "name");
  if (name !== undefined && name !== "" && name !== "Error") return name;
  return constructorName(error) ?? "Error";
}

function constructorName(value: object): string | undefined {
  try {
    const { constructor } = value;
    return typeof constructor === "function" && constructor.name !== "" ? constructor.name : undefined;
  } catch {
    return undefined;
  }
}
