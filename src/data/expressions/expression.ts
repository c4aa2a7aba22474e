/**
 * Expressions as users write them: `col("fare").div(col("km")).gt(3)`.
 *
 * An expression is a tree of plain data behind methods that build larger ones. Each method checks its arguments at once; whether columns are there and of the right types shows
 * where they are computed. Workers compute whole vectors, without a call of a function for each row.
 */
import { custom, describeValue, flag, isClass, oneOf, pythonCodeOf, readOptions } from "../../core/internal.ts";
import { requireFunction, seedOf } from "../arguments.ts";
import { parseType, TYPE_NAMES } from "../blocks/data-type.ts";
import type { AnyColumn, ColumnOf, ColumnValue as GivenValue } from "../row-types.ts";
import type {
  Arithmetic,
  CastName,
  CastValue,
  ColumnValue,
  ElementOf,
  FieldOf,
  Filled,
  GroupNames,
  PartOf,
  Strict,
} from "./expression-types.ts";
import { type ExpressionNode, expressionText, type FunctionName, type LiteralValue, type TimePart } from "./nodes.ts";
import { groupsOf, requirePattern } from "./operations/patterns.ts";
import { CODE_NAMES, unknownCode } from "./times/time-formats.ts";
import { ROUNDING_UNITS, type RoundingUnit } from "./times/time-rounding.ts";

export let nodeOf: (expression: Expression) => ExpressionNode;

/** The other operand of a method: an expression or a value. */
type Operand = Expression | LiteralValue;
type Widened<V> = V extends number ? number : V extends bigint ? bigint : V extends string ? string : V extends boolean ? boolean : V;
type TermOf<O> = O extends Expression<infer T> ? T : Widened<O>;
type NamesOf<O> = O extends Expression<unknown, infer N> ? N : never;
type Names<N extends string, O> = N | NamesOf<O>;

/**
 * A value for each row, computed from its columns.
 *
 * @typeParam T - the type of the values, as a term that the dataset's rows complete
 * @typeParam N - the columns that it reads
 */
export class Expression<out T = unknown, out N extends string = string> {
  readonly #node: ExpressionNode;
  /** For the compiler alone. */
  declare readonly term: T;
  declare readonly names: N;

  static {
    nodeOf = (expression) => expression.#node;
  }

  /** Made by `col` and `lit`. */
  constructor(node: ExpressionNode) {
    this.#node = node;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Arithmetic

  /** The sum. Numbers add as in JavaScript; whole numbers of 64 bits exactly, or it is an error. */
  add<const O extends Operand>(other: O): Expression<Arithmetic<T | TermOf<O>>, Names<N, O>> {
    return this.#with("add", other);
  }

  /** The difference. */
  sub<const O extends Operand>(other: O): Expression<Arithmetic<T | TermOf<O>>, Names<N, O>> {
    return this.#with("sub", other);
  }

  /** The product. */
  mul<const O extends Operand>(other: O): Expression<Arithmetic<T | TermOf<O>>, Names<N, O>> {
    return this.#with("mul", other);
  }

  /** The quotient: a number with its fraction, by zero an infinity or NaN. Of bigints it is cut off, and by zero an error. */
  div<const O extends Operand>(other: O): Expression<Arithmetic<T | TermOf<O>>, Names<N, O>> {
    return this.#with("div", other);
  }

  /** The remainder of a division, with the sign of the dividend: `%`. */
  mod<const O extends Operand>(other: O): Expression<Arithmetic<T | TermOf<O>>, Names<N, O>> {
    return this.#with("mod", other);
  }

  /** The largest whole number that is not above the quotient. */
  floorDiv<const O extends Operand>(other: O): Expression<Arithmetic<T | TermOf<O>>, Names<N, O>> {
    return this.#with("floorDiv", other);
  }

  /** The power. */
  pow<const O extends Operand>(other: O): Expression<Arithmetic<T | TermOf<O>>, Names<N, O>> {
    return this.#with("pow", other);
  }

  /** With the other sign. */
  neg(): Expression<Arithmetic<T>, N> {
    return this.#call("neg");
  }

  abs(): Expression<Arithmetic<T>, N> {
    return this.#call("abs");
  }

  /**
   * The nearest whole number, or number of so many digits behind the point, of two the larger one, as `Math.round`. Decimals are rounded exactly, and have that many digits then.
   *
   * @param digits - from 0 to 15. Default: 0
   * @throws RangeError for another number of digits
   */
  round(digits = 0): Expression<Arithmetic<T>, N> {
    if (!Number.isInteger(digits) || digits < 0 || digits > 15)
      throw new RangeError(`Cannot call round: it takes a number of digits from 0 to 15: received ${describeValue(digits)}`);
    return digits === 0 ? this.#call("round") : this.#call("round", digits);
  }

  ceil(): Expression<Arithmetic<T>, N> {
    return this.#call("ceil");
  }

  floor(): Expression<Arithmetic<T>, N> {
    return this.#call("floor");
  }

  /** Without its fraction. */
  trunc(): Expression<Arithmetic<T>, N> {
    return this.#call("trunc");
  }

  /** 1, 0 or -1; NaN of NaN. */
  sign(): Expression<Strict<number, T>, N> {
    return this.#call("sign");
  }

  sqrt(): Expression<Strict<number, T>, N> {
    return this.#call("sqrt");
  }

  /** e to the power of the value. */
  exp(): Expression<Strict<number, T>, N> {
    return this.#call("exp");
  }

  /** The natural logarithm. */
  ln(): Expression<Strict<number, T>, N> {
    return this.#call("ln");
  }

  log2(): Expression<Strict<number, T>, N> {
    return this.#call("log2");
  }

  log10(): Expression<Strict<number, T>, N> {
    return this.#call("log10");
  }

  /** The sine of an angle in radians. */
  sin(): Expression<Strict<number, T>, N> {
    return this.#call("sin");
  }

  cos(): Expression<Strict<number, T>, N> {
    return this.#call("cos");
  }

  tan(): Expression<Strict<number, T>, N> {
    return this.#call("tan");
  }

  /** The angle in radians. */
  asin(): Expression<Strict<number, T>, N> {
    return this.#call("asin");
  }

  acos(): Expression<Strict<number, T>, N> {
    return this.#call("acos");
  }

  atan(): Expression<Strict<number, T>, N> {
    return this.#call("atan");
  }

  sinh(): Expression<Strict<number, T>, N> {
    return this.#call("sinh");
  }

  cosh(): Expression<Strict<number, T>, N> {
    return this.#call("cosh");
  }

  tanh(): Expression<Strict<number, T>, N> {
    return this.#call("tanh");
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Comparisons and logic

  /** Whether both are equal. NaN equals nothing; a null on either side gives null, so ask for nulls by `isNull`. */
  eq<const O extends Operand>(other: O): Expression<Strict<boolean, T | TermOf<O>>, Names<N, O>> {
    return this.#with("eq", other);
  }

  ne<const O extends Operand>(other: O): Expression<Strict<boolean, T | TermOf<O>>, Names<N, O>> {
    return this.#with("ne", other);
  }

  gt<const O extends Operand>(other: O): Expression<Strict<boolean, T | TermOf<O>>, Names<N, O>> {
    return this.#with("gt", other);
  }

  ge<const O extends Operand>(other: O): Expression<Strict<boolean, T | TermOf<O>>, Names<N, O>> {
    return this.#with("ge", other);
  }

  lt<const O extends Operand>(other: O): Expression<Strict<boolean, T | TermOf<O>>, Names<N, O>> {
    return this.#with("lt", other);
  }

  le<const O extends Operand>(other: O): Expression<Strict<boolean, T | TermOf<O>>, Names<N, O>> {
    return this.#with("le", other);
  }

  /** True where both are, false where one is false, else null. */
  and<const O extends Operand>(other: O): Expression<Strict<boolean, T | TermOf<O>>, Names<N, O>> {
    return this.#with("and", other);
  }

  /** True where one is, false where both are false, else null. */
  or<const O extends Operand>(other: O): Expression<Strict<boolean, T | TermOf<O>>, Names<N, O>> {
    return this.#with("or", other);
  }

  not(): Expression<Strict<boolean, T>, N> {
    return this.#call("not");
  }

  isNull(): Expression<boolean, N> {
    return this.#call("isNull");
  }

  isNotNull(): Expression<boolean, N> {
    return this.#call("isNotNull");
  }

  /**
   * Whether the value is one of these. They are of one kind.
   *
   * @throws TypeError for null and NaN, which equal nothing, and for values of two kinds
   */
  isIn(values: readonly Exclude<LiteralValue, null>[]): Expression<Strict<boolean, T>, N> {
    if (!Array.isArray(values)) throw new TypeError(`Cannot call isIn: it takes an array of values: received ${describeValue(values)}`);
    const checked = values.map((value) => checkedLiteral("isIn", value));
    if (checked.some((value) => value === null || Number.isNaN(value)))
      throw new TypeError("Cannot call isIn: it takes no null and no NaN, which equal nothing: ask for nulls by isNull()");
    const kinds = new Set(checked.map((value) => (typeof value === "bigint" ? "number" : typeof value)));
    if (kinds.size > 1) throw new TypeError(`Cannot call isIn: it takes values of one kind: received ${[...kinds].join(" and ")}`);
    return this.#call("isIn", checked);
  }

  /** Replaces null by another value. */
  fillNull<const O extends Operand>(other: O): Expression<Filled<T, TermOf<O>>, Names<N, O>> {
    return this.#with("fillNull", other);
  }

  /**
   * The value as another type. A value that the type does not hold exactly is an error; float32 rounds, and coarser times are cut off.
   *
   * @param options - `onError: "null"`: null in place of such a value. Default: `"throw"`
   * @throws TypeError, RangeError for an unknown type, and for other options
   * @example
   * const cleaned = rides.withColumn("km", col("km").str.replace(",", "").cast("float64", { onError: "null" }));
   */
  cast<const K extends CastName>(type: K, options?: { onError?: "throw" | undefined }): Expression<Strict<CastValue<K>, T>, N>;
  cast<const K extends CastName>(
    type: K,
    options: { onError?: "throw" | "null" | undefined },
  ): Expression<Strict<CastValue<K> | null, T>, N>;
  cast(type: string, options: { onError?: "throw" | "null" | undefined } = {}): Expression<any, N> {
    const { onError } = readOptions(options, { of: "cast", options: { onError: oneOf(["throw", "null"], "throw") } });
    if (typeof type !== "string" || parseType(type) === undefined || type === "null")
      throw new TypeError(
        `Cannot call cast: it takes the name of a type: received ${describeValue(type)}; types are ${TYPE_NAMES.join(", ")}`,
      );
    return onError === "throw" ? this.#call("cast", type) : this.#call("cast", type, onError);
  }

  /**
   * The expression under a name, for `selectColumns`.
   *
   * @throws TypeError for an invalid name
   */
  as<const A extends string>(name: A): NamedExpression<A, T, N> {
    requireName("as", name);
    return new NamedExpression(name, this);
  }

  /**
   * The bytes of the file that the text names by path or URL, for `withColumn`: decompressed according to the extension, and null for null. The tasks that have
   * the rows fetch files ahead.
   *
   * @param options - `onError`: the result for an unreadable file. Default: `"throw"`
   * @throws TypeError, RangeError for other options
   * @example
   * const pages = links.withColumn("bytes", col("url").download({ onError: "null" }));
   */
  download(options?: { onError?: "throw" | undefined }): Download<Strict<Uint8Array, T>, N>;
  download(options: { onError?: "throw" | "null" | undefined }): Download<Strict<Uint8Array | null, T>, N>;
  download(options: { onError?: "throw" | "null" | undefined } = {}): Download<any, N> {
    const { onError } = readOptions(options, { of: "download", options: { onError: oneOf(["throw", "null"], "throw") } });
    return new Download(this, onError);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Namespaces

  /** Functions of texts, as JavaScript's strings have them. */
  get str(): TextFunctions<T, N> {
    return new TextFunctions(this.#node);
  }

  /** Functions of days and moments, in UTC. */
  get dt(): TimeFunctions<T, N> {
    return new TimeFunctions(this.#node);
  }

  /** Functions of lists. */
  get list(): ListFunctions<T, N> {
    return new ListFunctions(this.#node);
  }

  /** Functions of maps, which Arrow has; their rows are lists of structs of a key and a value. */
  get map(): MapFunctions<T, N> {
    return new MapFunctions(this.#node);
  }

  /** Functions of arrays of numbers. */
  get arr(): ArrayFunctions<T, N> {
    return new ArrayFunctions(this.#node);
  }

  /** Fields of structs. */
  get struct(): StructFunctions<T, N> {
    return new StructFunctions(this.#node);
  }

  /** The expression as people write it. */
  toString(): string {
    return expressionText(this.#node);
  }

  #call<U>(fn: FunctionName, ...args: readonly unknown[]): Expression<U, N> {
    return calling(fn, [this.#node], args);
  }

  #with<U, M extends string>(fn: FunctionName, other: Operand): Expression<U, M> {
    return calling(fn, [this.#node, nodeOfOperand(fn, other)], []);
  }
}

function calling<U, N extends string>(fn: FunctionName, inputs: readonly ExpressionNode[], args: readonly unknown[]): Expression<U, N> {
  return new Expression<U, N>({ kind: "call", fn, inputs, args });
}

Object.defineProperty(Expression.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: Expression): string {
    return `Expression(${this.toString()})`;
  },
});

/** An expression with the name of its column. */
export class NamedExpression<out A extends string = string, out T = unknown, out N extends string = string> {
  readonly name: A;
  readonly expression: Expression<T, N>;

  /** Made by `as`. */
  constructor(name: A, expression: Expression<T, N>) {
    this.name = name;
    this.expression = expression;
  }
}

/** Values by conditions, which `when` begins. `otherwise` completes the expression. */
export class When<out T = unknown, out N extends string = string> {
  readonly #inputs: readonly ExpressionNode[];

  /** Made by `when`. */
  constructor(inputs: readonly ExpressionNode[]) {
    this.#inputs = inputs;
  }

  /** A further value, where no condition before is true and this one is. */
  when<const C extends string, const O extends Operand>(condition: Expression<unknown, C>, value: O): When<T | TermOf<O>, Names<N | C, O>> {
    return new When([...this.#inputs, ...nodesOfChoice(condition, value)]);
  }

  /** The value where no condition is true; `null` is one. */
  otherwise<const O extends Operand>(value: O): Expression<T | TermOf<O>, Names<N, O>> {
    return calling("when", [...this.#inputs, nodeOfOperand("otherwise", value)], []);
  }
}

/** All columns, for `selectColumns`. */
export class Star {
  /** For the compiler alone. */
  declare readonly star: true;
}

/** The fields of a struct as columns, for `withColumns`. */
export class Unnest<out T = unknown, out N extends string = string> {
  readonly expression: Expression<unknown, N>;
  /** For the compiler alone. */
  declare readonly term: T;

  /** Made by `unnest`. */
  constructor(expression: Expression<unknown, N>) {
    this.expression = expression;
  }
}

/** Files that an expression names, as `download` gives them. `withColumn` takes it; it is no value that an expression computes with. */
export class Download<out T = unknown, out N extends string = string> {
  readonly expression: Expression<unknown, N>;
  readonly onError: "throw" | "null";
  /** For the compiler alone. */
  declare readonly term: T;

  /** Made by `download`. */
  constructor(expression: Expression<unknown, N>, onError: "throw" | "null") {
    this.expression = expression;
    this.onError = onError;
  }
}

// ---------------------------------------------------------------------------------------------------------------------

/** Functions of texts. Lengths and places count UTF-16 units, as JavaScript does. */
class TextFunctions<out T, out N extends string> {
  readonly #node: ExpressionNode;

  /** Made by `str`. */
  constructor(node: ExpressionNode) {
    this.#node = node;
  }

  length(): Expression<Strict<number, T>, N> {
    return this.#call("str.length");
  }

  upper(): Expression<Strict<string, T>, N> {
    return this.#call("str.upper");
  }

  lower(): Expression<Strict<string, T>, N> {
    return this.#call("str.lower");
  }

  /** How many bytes the text has in UTF-8. */
  byteLength(): Expression<Strict<number, T>, N> {
    return this.#call("str.byteLength");
  }

  /** The first character in upper case, the others in lower case. */
  capitalize(): Expression<Strict<string, T>, N> {
    return this.#call("str.capitalize");
  }

  /** Each word with its first letter in upper case. Words are of letters alone: `it's` becomes `It'S`, as in Python. */
  title(): Expression<Strict<string, T>, N> {
    return this.#call("str.title");
  }

  /** With letters of upper case in lower case, and the other way round. */
  swapCase(): Expression<Strict<string, T>, N> {
    return this.#call("str.swapCase");
  }

  /** Without white space at both ends, or without these characters. */
  trim(characters?: string): Expression<Strict<string, T>, N> {
    return this.#trim("str.trim", characters);
  }

  trimStart(characters?: string): Expression<Strict<string, T>, N> {
    return this.#trim("str.trimStart", characters);
  }

  trimEnd(characters?: string): Expression<Strict<string, T>, N> {
    return this.#trim("str.trimEnd", characters);
  }

  contains(text: string): Expression<Strict<boolean, T>, N> {
    return this.#call("str.contains", requireText("str.contains", text));
  }

  startsWith(text: string): Expression<Strict<boolean, T>, N> {
    return this.#call("str.startsWith", requireText("str.startsWith", text));
  }

  endsWith(text: string): Expression<Strict<boolean, T>, N> {
    return this.#call("str.endsWith", requireText("str.endsWith", text));
  }

  /** Whether the text is like a pattern of SQL: `%` stands for any characters, `_` for one, and a backslash takes their meaning away. */
  matchLike(pattern: string): Expression<Strict<boolean, T>, N> {
    return this.#call("str.matchLike", requireText("str.matchLike", pattern));
  }

  /** Whether a regular expression matches somewhere in the text. A pattern as a text has the flag `u`. */
  matchRegex(pattern: string | RegExp): Expression<Strict<boolean, T>, N> {
    return this.#call("str.matchRegex", requirePattern("str.matchRegex", pattern));
  }

  /** The place where a text first comes, from 0; -1 where it does not. */
  find(text: string): Expression<Strict<number, T>, N> {
    return this.#call("str.find", requireText("str.find", text));
  }

  findRegex(pattern: string | RegExp): Expression<Strict<number, T>, N> {
    return this.#call("str.findRegex", requirePattern("str.findRegex", pattern));
  }

  /** How often a text comes, without overlaps. */
  count(text: string): Expression<Strict<number, T>, N> {
    return this.#call("str.count", requireSearched("str.count", text));
  }

  countRegex(pattern: string | RegExp): Expression<Strict<number, T>, N> {
    return this.#call("str.countRegex", requirePattern("str.countRegex", pattern));
  }

  /**
   * The named groups of the first match as a struct, which is null where there is no match. A group that has no part in the match is null.
   *
   * @throws TypeError for a pattern without named groups
   * @example
   * files.withColumns(unnest(col("path").str.extract("(?<year>\\d{4})-(?<month>\\d\\d)")));
   */
  extract<const P extends string | RegExp>(pattern: P): Expression<Strict<Record<GroupNames<P>, string | null> | null, T>, N> {
    const checked = requirePattern("str.extract", pattern);
    if (groupsOf(checked).groups === undefined)
      throw new TypeError(
        `Cannot call str.extract: it takes a regular expression with named groups, such as (?<year>\\d+): received ${String(pattern)}`,
      );
    return this.#call("str.extract", checked);
  }

  /** With each place of a text replaced by another. */
  replace(from: string, to: string): Expression<Strict<string, T>, N> {
    return this.#call("str.replace", requireSearched("str.replace", from), requireText("str.replace", to));
  }

  /** With each match replaced by a text, in which `$1` and `$<name>` stand for groups, as in JavaScript. */
  replaceRegex(pattern: string | RegExp, to: string): Expression<Strict<string, T>, N> {
    return this.#call("str.replaceRegex", requirePattern("str.replaceRegex", pattern), requireText("str.replaceRegex", to));
  }

  /** With the part from one place to before another replaced by a text; places count from the end for negative numbers. */
  replaceSlice(start: number, end: number, by: string): Expression<Strict<string, T>, N> {
    const places = [start, end].map((place) => requireWhole("str.replaceSlice", place));
    return this.#call("str.replaceSlice", ...places, requireText("str.replaceSlice", by));
  }

  /** From one place to before another; from the end for negative numbers. Default: to the end. */
  slice(start: number, end?: number): Expression<Strict<string, T>, N> {
    const places = [start, ...(end === undefined ? [] : [end])].map((place) => requireWhole("str.slice", place));
    return this.#call("str.slice", ...places);
  }

  /** The parts between the separators. */
  split(separator: string): Expression<Strict<string[], T>, N> {
    return this.#call("str.split", requireSearched("str.split", separator));
  }

  /** The parts between the matches of a regular expression. */
  splitRegex(pattern: string | RegExp): Expression<Strict<string[], T>, N> {
    return this.#call("str.splitRegex", requirePattern("str.splitRegex", pattern));
  }

  /** The parts between white space, with an empty one before white space at the beginning, and behind it at the end. */
  splitWhitespace(): Expression<Strict<string[], T>, N> {
    return this.#call("str.splitWhitespace");
  }

  /** The characters from the last to the first. */
  reverse(): Expression<Strict<string, T>, N> {
    return this.#call("str.reverse");
  }

  /** The text so many times. */
  repeat(times: number): Expression<Strict<string, T>, N> {
    return this.#call("str.repeat", requireSize("str.repeat", times));
  }

  /** As long as `size` at least, with `fill` repeated before it. Default: spaces. */
  padStart(size: number, fill = " "): Expression<Strict<string, T>, N> {
    return this.#call("str.padStart", requireSize("str.padStart", size), requireText("str.padStart", fill));
  }

  padEnd(size: number, fill = " "): Expression<Strict<string, T>, N> {
    return this.#call("str.padEnd", requireSize("str.padEnd", size), requireText("str.padEnd", fill));
  }

  /** As long as `size` at least, with `fill` repeated on both sides; behind the text one more where it is odd. */
  center(size: number, fill = " "): Expression<Strict<string, T>, N> {
    return this.#call("str.center", requireSize("str.center", size), requireText("str.center", fill));
  }

  /** Whether all characters are letters. This, and what follows, is false of a text of no characters, unless said otherwise. */
  isAlpha(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isAlpha");
  }

  /** Whether all characters are letters or numbers. */
  isAlnum(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isAlnum");
  }

  /** Whether all characters are digits, of any script, also raised ones, and fractions. */
  isDigit(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isDigit");
  }

  /** Whether all characters are decimal digits, of any script. */
  isDecimal(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isDecimal");
  }

  /** Whether all characters are digits, fractions, Roman numerals or other numbers. */
  isNumeric(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isNumeric");
  }

  /** Whether all characters are white space, as `trim` has it. */
  isSpace(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isSpace");
  }

  /** Whether there are letters of lower case, and none of upper case. */
  isLower(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isLower");
  }

  isUpper(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isUpper");
  }

  /** Whether each word begins in upper case and goes on in lower case, and there is one. */
  isTitle(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isTitle");
  }

  /** Whether no character is a control character or white space other than the space; true of no characters. */
  isPrintable(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isPrintable");
  }

  /** Whether all characters are ASCII; true of no characters. */
  isAscii(): Expression<Strict<boolean, T>, N> {
    return this.#call("str.isAscii");
  }

  /** The text with those of the others behind it; null where one is. */
  concat<const O extends readonly Operand[]>(...others: O): Expression<Strict<string, T | TermOf<O[number]>>, Names<N, O[number]>> {
    return calling("str.concat", [this.#node, ...others.map((other) => nodeOfOperand("str.concat", other))], []);
  }

  #trim(fn: "str.trim" | "str.trimStart" | "str.trimEnd", characters: string | undefined): Expression<Strict<string, T>, N> {
    return characters === undefined ? this.#call(fn) : this.#call(fn, requireText(fn, characters));
  }

  #call<U>(fn: FunctionName, ...args: readonly unknown[]): Expression<U, N> {
    return calling(fn, [this.#node], args);
  }
}

/** Functions of days and moments, in UTC; parts are whole numbers. */
class TimeFunctions<out T, out N extends string> {
  readonly #node: ExpressionNode;

  /** Made by `dt`. */
  constructor(node: ExpressionNode) {
    this.#node = node;
  }

  year(): Expression<Strict<number, T>, N> {
    return this.#part("year");
  }

  /** From 1 to 12. */
  month(): Expression<Strict<number, T>, N> {
    return this.#part("month");
  }

  /** From 1 to 31. */
  day(): Expression<Strict<number, T>, N> {
    return this.#part("day");
  }

  hour(): Expression<Strict<number, T>, N> {
    return this.#part("hour");
  }

  minute(): Expression<Strict<number, T>, N> {
    return this.#part("minute");
  }

  second(): Expression<Strict<number, T>, N> {
    return this.#part("second");
  }

  millisecond(): Expression<Strict<number, T>, N> {
    return this.#part("millisecond");
  }

  /** From 0, Sunday, to 6, as `Date` has it. */
  weekday(): Expression<Strict<number, T>, N> {
    return this.#part("weekday");
  }

  /** From 1 to 366. */
  dayOfYear(): Expression<Strict<number, T>, N> {
    return this.#part("dayOfYear");
  }

  /**
   * The text of a day or a moment by the codes of C's `strftime`, such as `%Y-%m-%d`. `%S` has as many digits behind the point as the column's unit.
   *
   * @throws TypeError for an unknown code
   */
  strftime(format: string): Expression<Strict<string, T>, N> {
    const unknown = unknownCode(requireText("dt.strftime", format));
    if (unknown !== undefined)
      throw new TypeError(
        `Cannot call dt.strftime: it takes the codes ${CODE_NAMES} behind %: received ${describeValue(unknown)} in ${describeValue(format)}`,
      );
    return this.#call("dt.strftime", format);
  }

  /** The beginning of the unit in which the day or moment lies. Weeks begin on Monday. */
  floor(unit: RoundingUnit): Expression<T, N> {
    return this.#call("dt.floor", requireUnit("dt.floor", unit));
  }

  /** The beginning of the next unit, and what begins one stays: Ray takes the first moment of a year or a month one further. */
  ceil(unit: RoundingUnit): Expression<T, N> {
    return this.#call("dt.ceil", requireUnit("dt.ceil", unit));
  }

  /** The beginning of a unit that is nearest, of two the later one. */
  round(unit: RoundingUnit): Expression<T, N> {
    return this.#call("dt.round", requireUnit("dt.round", unit));
  }

  #part(part: TimePart): Expression<Strict<number, T>, N> {
    return this.#call(`dt.${part}`);
  }

  #call<U>(fn: FunctionName, ...args: readonly unknown[]): Expression<U, N> {
    return calling(fn, [this.#node], args);
  }
}

/** Functions of lists. */
class ListFunctions<out T, out N extends string> {
  readonly #node: ExpressionNode;

  /** Made by `list`. */
  constructor(node: ExpressionNode) {
    this.#node = node;
  }

  length(): Expression<Strict<number, T>, N> {
    return this.#call("list.length");
  }

  /** The element of a place, from the end for negative numbers; null where there is none. */
  get(index: number): Expression<ElementOf<T>, N> {
    return this.#call("list.get", requireWhole("list.get", index));
  }

  /** Whether an element equals the value. */
  contains(value: Exclude<LiteralValue, null>): Expression<Strict<boolean, T>, N> {
    const checked = checkedLiteral("list.contains", value);
    if (checked === null) throw new TypeError("Cannot call list.contains: it takes a value: null equals nothing");
    return this.#call("list.contains", checked);
  }

  /**
   * The elements from one place to before another, from the end for negative numbers. Default: to the end.
   *
   * @param step - 2 leaves out each second one, and so on. Default: 1
   */
  slice(start: number, end?: number, step = 1): Expression<T, N> {
    requireWhole("list.slice", start);
    if (end !== undefined) requireWhole("list.slice", end);
    if (!Number.isSafeInteger(step) || step < 1)
      throw new RangeError(`Cannot call list.slice: it takes a step from 1: received ${describeValue(step)}`);
    return this.#call("list.slice", start, end, step);
  }

  /**
   * The elements of each list in their order, NaN behind the numbers.
   *
   * @param options - `descending`: the largest first. Default: false. `nulls`: where they come. Default: `"last"`
   */
  sort(options: { descending?: boolean | undefined; nulls?: "first" | "last" | undefined } = {}): Expression<T, N> {
    const { descending, nulls } = readOptions(options, {
      of: "list.sort",
      options: { descending: flag(false), nulls: oneOf(["first", "last"], "last") },
    });
    return this.#call("list.sort", descending, nulls === "first");
  }

  /** The elements of the lists in a list, one list behind the other; those that are null are left out. */
  flatten(): Expression<PartOf<T, "flattened">, N> {
    return this.#call("list.flatten");
  }

  #call<U>(fn: FunctionName, ...args: readonly unknown[]): Expression<U, N> {
    return calling(fn, [this.#node], args);
  }
}

/** Functions of maps. */
class MapFunctions<out T, out N extends string> {
  readonly #node: ExpressionNode;

  /** Made by `map`. */
  constructor(node: ExpressionNode) {
    this.#node = node;
  }

  /** The keys of each map, as a list. */
  keys(): Expression<PartOf<T, "keys">, N> {
    return calling("map.keys", [this.#node], []);
  }

  /** The values of each map, as a list, in the order of the keys. */
  values(): Expression<PartOf<T, "values">, N> {
    return calling("map.values", [this.#node], []);
  }
}

/** Functions of arrays of numbers. */
class ArrayFunctions<out T, out N extends string> {
  readonly #node: ExpressionNode;

  /** Made by `arr`. */
  constructor(node: ExpressionNode) {
    this.#node = node;
  }

  /** The array as a list; one of more dimensions as lists of lists. A list stays as it is. */
  toList(): Expression<PartOf<T, "listed">, N> {
    return calling("arr.toList", [this.#node], []);
  }
}

/** Fields of structs. */
class StructFunctions<out T, out N extends string> {
  readonly #node: ExpressionNode;

  /** Made by `struct`. */
  constructor(node: ExpressionNode) {
    this.#node = node;
  }

  /** The field of the name; null where the struct is null. */
  field<const F extends string>(name: F): Expression<FieldOf<T, F>, N> {
    requireName("struct.field", name);
    return calling("struct.field", [this.#node], [name]);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

/**
 * The values of a column.
 *
 * @example
 * rides.filter(col("km").gt(1)).withColumn("perKm", col("fare").div(col("km")));
 * @throws TypeError for an invalid name
 */
export function col<const N extends string>(name: N): Expression<ColumnValue<N>, N> {
  requireName("col", name);
  return new Expression({ kind: "column", name });
}

/**
 * A value that is the same for all rows.
 *
 * @throws TypeError for what no expression can hold, RangeError for a bigint beyond 64 bits
 */
export function lit<const V extends LiteralValue>(value: V): Expression<Widened<V>, never> {
  return new Expression({ kind: "literal", value: checkedLiteral("lit", value) });
}

/**
 * A value where a condition is true, and others elsewhere: the first condition that is true decides, and one that is null is not true. All values are computed for all rows.
 *
 * @throws TypeError for a condition that is no expression
 * @example
 * rides.withColumn("size", when(col("km").gt(100), "long").when(col("km").gt(10), "middle").otherwise("short"));
 */
export function when<const N extends string, const O extends Operand>(
  condition: Expression<unknown, N>,
  value: O,
): When<TermOf<O>, Names<N, O>> {
  return new When(nodesOfChoice(condition, value));
}

function nodesOfChoice(condition: Expression, value: Operand): readonly ExpressionNode[] {
  if (!(condition instanceof Expression))
    throw new TypeError(
      `Cannot call when: it takes a condition that is an expression, such as col("km").gt(10): received ${describeValue(condition)}`,
    );
  return [nodeOf(condition), nodeOfOperand("when", value)];
}

/**
 * All columns as they are, for `selectColumns`, where expressions with names follow: columns more, or others in the place of those of their names.
 *
 * @example
 * rides.selectColumns([star(), col("fare").div(col("km")).as("perKm")]);
 */
export function star(): Star {
  return new Star();
}

/**
 * The fields of a struct as columns, for `withColumns`: each field replaces the column of its name or is added. The expression is computed once. Inner structs
 * stay. A block of null structs without known fields keeps its columns.
 *
 * @example
 * files.withColumns(unnest(col("path").str.extract("(?<year>\\d{4})-(?<month>\\d\\d)")));
 * @throws TypeError unless given an expression
 */
export function unnest<T, N extends string>(expression: Expression<T, N>): Unnest<T, N> {
  if (!(expression instanceof Expression))
    throw new TypeError(`Cannot call unnest: it takes an expression: received ${describeValue(expression)}`);
  return new Unnest<T, N>(expression);
}

/** A user's function as a part of expressions. Each argument is an expression or a value in place of a column. */
export type ExpressionFunction<P extends readonly any[], V> = <const A extends { readonly [I in keyof P]: Operand } & readonly Operand[]>(
  ...columns: A
) => Expression<V, NamesOf<A[number]>>;

/**
 * Makes a function on whole columns a part of expressions. As in `mapBatches`, it gets a typed array for a column of numbers, else a `Column`, with the rows of
 * one block. It returns an array, a typed array or a `Column` with as many values, and no promise.
 *
 * @param options - `type`: the type of the values, by a name that `cast` takes. Default: inferred from the values
 * @throws TypeError for an invalid function or an unknown type
 * @example
 * const bucket = udf((km: Float64Array) => km.map((one) => one >> 3), { type: "float64" });
 * rides.filter(bucket(col("km")).lt(4));
 */
export function udf<P extends readonly any[], K extends CastName, C extends ColumnOf<CastValue<K>>>(
  fn: (...columns: P) => C,
  options: { type: K },
): ExpressionFunction<P, CastValue<K> | Extract<GivenValue<C>, null>>;
export function udf<P extends readonly any[], C extends AnyColumn>(
  fn: (...columns: P) => C,
  options?: { type?: undefined },
): ExpressionFunction<P, GivenValue<C>>;
export function udf(
  fn: (...columns: never[]) => unknown,
  options: { type?: string | undefined } = {},
): (...columns: readonly Operand[]) => Expression<any, any> {
  if (pythonCodeOf(fn) !== undefined)
    throw new TypeError("Cannot call udf: it takes a function of JavaScript: those of Python belong in mapBatches");
  requireFunction("udf", fn);
  if (isClass(fn)) throw new TypeError(`Cannot call udf: it takes a function: received the class ${fn.name}; classes belong in mapBatches`);
  const { type } = readOptions(options, { of: "udf", options: { type: TYPE } });
  const name = fn.name === "" ? "udf" : fn.name;
  return (...columns) => {
    if (columns.length === 0) throw new TypeError(`Cannot call ${name}: it takes a column for each of its parameters: received none`);
    const inputs = columns.map((column) => nodeOfOperand(name, column));
    return new Expression({ kind: "userCall", name, fn, inputs, type: type === undefined ? undefined : parseType(type) });
  };
}

const TYPE = custom<string | undefined>("the name of a type is needed", undefined, (value) =>
  typeof value === "string" && parseType(value) !== undefined ? "ok" : "wrong type",
);

/**
 * A random number from 0 (included) to 1 (excluded) for each row. It depends only on the seed and the row's number, so each run gives the same numbers with any
 * workers. Without `preserveOrder` the numbers of rows vary.
 *
 * @param options - `seed`: a whole number. Default: a new one for each call
 * @throws TypeError for another seed
 * @example
 * const noisy = rides.withColumn("km", col("km").add(random({ seed: 7 })));
 */
export function random(options: { seed?: number | undefined } = {}): Expression<number, never> {
  readOptions(options, { of: "random", options: { seed: SEED } });
  return calling("random", [{ kind: "rowNumber" }], [seedOf("random", options)]);
}

const SEED = custom<number | undefined>("a whole number is needed", undefined, (value) =>
  Number.isSafeInteger(value) ? "ok" : "wrong type",
);

/**
 * A UUID of version 4 for each row, as a text. Like {@link random}, it is the same whenever the dataset runs, and another one for each call of `uuid`. It is unique, and no secret.
 */
export function uuid(): Expression<string, never> {
  return calling("uuid", [{ kind: "rowNumber" }], [...crypto.getRandomValues(new Uint32Array(4))]);
}

/** The number of the row among all, from 0: each is larger than those before. Without `preserveOrder`, rows are numbered as they come. */
export function monotonicallyIncreasingId(): Expression<number, never> {
  return calling("monotonicallyIncreasingId", [{ kind: "rowNumber" }], []);
}

function nodeOfOperand(method: string, other: Operand): ExpressionNode {
  return other instanceof Expression ? nodeOf(other) : { kind: "literal", value: checkedLiteral(method, other) };
}

function checkedLiteral(method: string, value: unknown): LiteralValue {
  switch (typeof value) {
    case "number":
    case "boolean":
      return value;
    case "string":
      return requireText(method, value);
    case "bigint":
      if (BigInt.asIntN(64, value) !== value && BigInt.asUintN(64, value) !== value)
        throw new RangeError(`Cannot call ${method}: it takes whole numbers of 64 bits: received ${value}n`);
      return value;
    default:
      if (value === null) return null;
      if (value instanceof Date && !Number.isNaN(value.getTime())) return new Date(value);
      throw new TypeError(
        `Cannot call ${method}: it takes an expression, a number, a bigint, a text, a boolean, a Date or null: received ${describeValue(value)}`,
      );
  }
}

function requireName(method: string, name: unknown): void {
  if (typeof name !== "string")
    throw new TypeError(`Cannot call ${method}: it takes the name of a column: received ${describeValue(name)}`);
}

function requireText(method: string, text: unknown): string {
  if (typeof text !== "string") throw new TypeError(`Cannot call ${method}: it takes a text: received ${describeValue(text)}`);
  if (!text.isWellFormed())
    throw new RangeError(
      `Cannot call ${method}: its text has half of a character that takes two units of UTF-16: received ${describeValue(text)}`,
    );
  return text;
}

function requireUnit(method: string, unit: unknown): string {
  if (!ROUNDING_UNITS.includes(unit as string))
    throw new TypeError(
      `Cannot call ${method}: it takes the name of a unit: received ${describeValue(unit)}; units are ${ROUNDING_UNITS.join(", ")}`,
    );
  return unit as string;
}

function requireSearched(method: string, text: unknown): string {
  if (text === "") throw new RangeError(`Cannot call ${method}: it takes a text of one character or more: received ""`);
  return requireText(method, text);
}

function requireWhole(method: string, place: unknown): number {
  if (!Number.isSafeInteger(place)) throw new TypeError(`Cannot call ${method}: it takes a whole number: received ${describeValue(place)}`);
  return place as number;
}

/** Limit on the length of a padded text. */
const PADDED_MAX = 65_536;

function requireSize(method: string, size: unknown): number {
  if (!Number.isSafeInteger(size) || (size as number) < 0 || (size as number) > PADDED_MAX)
    throw new RangeError(`Cannot call ${method}: it takes a length from 0 to ${PADDED_MAX}: received ${describeValue(size)}`);
  return size as number;
}
