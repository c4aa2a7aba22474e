/**
 * Expressions as plain data: a tree of columns, literals and calls, which travels to the workers in the chain of a task.
 *
 * `expression.ts` builds and checks trees, `evaluate.ts` computes them on blocks.
 * `may-match.ts` holds them against the statistics of files.
 */

import type { DataType } from "../blocks/data-type.ts";

/** A value in an expression. */
export type LiteralValue = number | bigint | string | boolean | Date | null;

export type ArithmeticName = "add" | "sub" | "mul" | "div" | "mod" | "floorDiv" | "pow";
export type ComparisonName = "eq" | "ne" | "gt" | "ge" | "lt" | "le";
export type NumberFunctionName =
  | "round"
  | "ceil"
  | "floor"
  | "trunc"
  | "abs"
  | "neg"
  | "sign"
  | "sqrt"
  | "exp"
  | "ln"
  | "log2"
  | "log10"
  | "sin"
  | "cos"
  | "tan"
  | "asin"
  | "acos"
  | "atan"
  | "sinh"
  | "cosh"
  | "tanh";
export type TextFunctionName =
  | "str.length"
  | "str.upper"
  | "str.lower"
  | "str.trim"
  | "str.trimStart"
  | "str.trimEnd"
  | "str.contains"
  | "str.startsWith"
  | "str.endsWith"
  | "str.replace"
  | "str.slice"
  | "str.split"
  | "str.padStart"
  | "str.padEnd"
  | "str.byteLength"
  | "str.capitalize"
  | "str.title"
  | "str.swapCase"
  | "str.reverse"
  | "str.repeat"
  | "str.center"
  | "str.find"
  | "str.count"
  | "str.replaceSlice"
  | "str.splitWhitespace"
  | "str.matchLike"
  | "str.matchRegex"
  | "str.findRegex"
  | "str.countRegex"
  | "str.replaceRegex"
  | "str.splitRegex"
  | "str.extract"
  | `str.${TextQuestion}`
  | "str.concat";
type TextQuestion =
  | "isAlpha"
  | "isAlnum"
  | "isDigit"
  | "isDecimal"
  | "isNumeric"
  | "isSpace"
  | "isLower"
  | "isUpper"
  | "isTitle"
  | "isPrintable"
  | "isAscii";
export type TimePart = "year" | "month" | "day" | "hour" | "minute" | "second" | "millisecond" | "weekday" | "dayOfYear";
export type FunctionName =
  | ArithmeticName
  | ComparisonName
  | NumberFunctionName
  | TextFunctionName
  | `dt.${TimePart}`
  | "dt.strftime"
  | "dt.floor"
  | "dt.ceil"
  | "dt.round"
  | "and"
  | "or"
  | "not"
  | "isNull"
  | "isNotNull"
  | "isIn"
  | "fillNull"
  | "when"
  | "cast"
  | "random"
  | "uuid"
  | "monotonicallyIncreasingId"
  | "list.length"
  | "list.get"
  | "list.contains"
  | "list.slice"
  | "list.sort"
  | "list.flatten"
  | "map.keys"
  | "map.values"
  | "arr.toList"
  | "struct.field";

export interface CallNode {
  readonly kind: "call";
  readonly fn: FunctionName;
  readonly inputs: readonly ExpressionNode[];
  /** Constant arguments that are not expressions, such as the texts of `str.replace`. */
  readonly args: readonly unknown[];
}

/** A call of a user's function on whole columns. */
export interface UserCallNode {
  readonly kind: "userCall";
  /** The function's name in plans and errors. */
  readonly name: string;
  readonly fn: (...columns: never[]) => unknown;
  readonly inputs: readonly ExpressionNode[];
  /** Default: the type that all values have. */
  readonly type: DataType | undefined;
}

/** Hidden column of the number of each row among all rows, from 0, where a step asks for it. No column of a user's has a name that begins so. */
export const ROW_NUMBER = "\0row number";

export type ExpressionNode =
  | { readonly kind: "column"; readonly name: string }
  | { readonly kind: "literal"; readonly value: LiteralValue }
  | { readonly kind: "rowNumber" }
  | UserCallNode
  | CallNode;

/** An expression that is to be a column. */
export interface NamedNode {
  readonly name: string;
  readonly node: ExpressionNode;
}

/** The columns that the expression reads, each once. */
export function columnsOf(node: ExpressionNode): readonly string[] {
  const names = new Set<string>();
  const visit = (one: ExpressionNode): void => {
    if (one.kind === "column") names.add(one.name);
    else if ("inputs" in one) one.inputs.forEach(visit);
  };
  visit(node);
  return [...names];
}

/** Whether the values depend on the numbers of the rows. */
export function asksForRowNumbers(node: ExpressionNode): boolean {
  return node.kind === "rowNumber" || ("inputs" in node && node.inputs.some(asksForRowNumbers));
}

/** Whether a function of a user's is called. */
export function callsUserCode(node: ExpressionNode): boolean {
  return node.kind === "userCall" || ("inputs" in node && node.inputs.some(callsUserCode));
}

/** The expression on other names of columns. */
export function renamed(node: ExpressionNode, nameOf: (name: string) => string): ExpressionNode {
  if (node.kind === "column") return { kind: "column", name: nameOf(node.name) };
  return !("inputs" in node) ? node : { ...node, inputs: node.inputs.map((input) => renamed(input, nameOf)) };
}

const SIGNS: Partial<Record<FunctionName, string>> = {
  add: "+",
  sub: "-",
  mul: "*",
  div: "/",
  mod: "%",
  eq: "=",
  ne: "!=",
  gt: ">",
  ge: ">=",
  lt: "<",
  le: "<=",
  and: "and",
  or: "or",
};
const TEXT_MAX = 120;

/** The expression as people write it, such as `fare / km > 3`, for plans and messages. Cut where it is long. */
export function expressionText(node: ExpressionNode): string {
  const text = textOf(node, false);
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`;
}

function textOf(node: ExpressionNode, isInner: boolean): string {
  if (node.kind === "column") return node.name;
  if (node.kind === "literal") return literalText(node.value);
  if (node.kind === "rowNumber") return "row number";
  if (node.kind === "userCall") return `${node.name}(${node.inputs.map((input) => textOf(input, false)).join(", ")})`;
  const { fn, inputs, args } = node;
  const sign = SIGNS[fn];
  if (sign !== undefined) {
    const text = inputs.map((input) => textOf(input, true)).join(` ${sign} `);
    return isInner ? `(${text})` : text;
  }
  const shown = inputs.filter(({ kind }) => kind !== "rowNumber");
  const given = [...shown.map((input) => textOf(input, false)), ...args.filter((arg) => arg !== undefined).map(literalText)];
  return `${fn}(${given.join(", ")})`;
}

function literalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalText).join(", ")}]`;
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
