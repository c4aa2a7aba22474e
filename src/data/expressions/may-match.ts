/**
 * Tells whether a filter may keep any of some rows with known bounds: the statistics of a row group, or the values in a file's path.
 *
 * An unknown answer is yes. Rows stay unread only if the filter cannot be true for any of them, so the filter behind the read keeps the same rows.
 * Pure; readers of Parquet and the choice of files call it.
 */
import type { ExpressionNode, LiteralValue } from "./nodes.ts";

type Bound = Exclude<LiteralValue, null>;

/** The known facts of a column in some rows. */
export interface ColumnFacts {
  readonly rowCount: number;
  /** Undefined where that is not known. */
  readonly nullCount: number | undefined;
  /** No value is smaller, or larger; absent where that is not known, or there is no value. NaN does not count. */
  readonly least?: Bound;
  readonly most?: Bound;
  readonly mayBeNaN: boolean;
}

/** Returns the facts of a column; undefined without any. */
type FactsOf = (column: string) => ColumnFacts | undefined;

/** The truth values that the expression may have for some row, apart from null. */
interface Truth {
  readonly yes: boolean;
  readonly no: boolean;
}

const UNKNOWN: Truth = { yes: true, no: true };

/** Whether the expression may be true for a row. */
export function mayMatch(node: ExpressionNode, factsOf: FactsOf): boolean {
  return truthOf(node, factsOf).yes;
}

function truthOf(node: ExpressionNode, factsOf: FactsOf): Truth {
  if (node.kind === "literal") return typeof node.value === "boolean" ? { yes: node.value, no: !node.value } : UNKNOWN;
  if (node.kind !== "call") return UNKNOWN;
  const inputs = node.inputs;
  const truth = (index: number): Truth => truthOf(inputs[index] as ExpressionNode, factsOf);
  switch (node.fn) {
    case "and": {
      const [a, b] = [truth(0), truth(1)];
      return { yes: a.yes && b.yes, no: a.no || b.no };
    }
    case "or": {
      const [a, b] = [truth(0), truth(1)];
      return { yes: a.yes || b.yes, no: a.no && b.no };
    }
    case "not": {
      const { yes, no } = truth(0);
      return { yes: no, no: yes };
    }
    case "isNull":
    case "isNotNull": {
      const isNull = nullTruth(inputs[0] as ExpressionNode, factsOf);
      return node.fn === "isNull" ? isNull : { yes: isNull.no, no: isNull.yes };
    }
    case "isIn": {
      const facts = factsOfColumn(inputs[0] as ExpressionNode, factsOf);
      if (facts === undefined) return UNKNOWN;
      return { yes: (node.args[0] as readonly Bound[]).some((value) => compared("eq", facts, value).yes), no: true };
    }
    case "eq":
    case "ne":
    case "gt":
    case "ge":
    case "lt":
    case "le":
      return comparedSides(node.fn, inputs as readonly [ExpressionNode, ExpressionNode], factsOf);
    default:
      return UNKNOWN;
  }
}

function factsOfColumn(node: ExpressionNode, factsOf: FactsOf): ColumnFacts | undefined {
  return node.kind === "column" ? factsOf(node.name) : undefined;
}

function nullTruth(node: ExpressionNode, factsOf: FactsOf): Truth {
  const facts = factsOfColumn(node, factsOf);
  if (facts?.nullCount === undefined) return UNKNOWN;
  return { yes: facts.nullCount > 0, no: facts.nullCount < facts.rowCount };
}

type Comparison = "eq" | "ne" | "gt" | "ge" | "lt" | "le";
const MIRRORED = { eq: "eq", ne: "ne", gt: "lt", ge: "le", lt: "gt", le: "ge" } as const;

/** A column on one side, and a value on the other. */
function comparedSides(fn: Comparison, [a, b]: readonly [ExpressionNode, ExpressionNode], factsOf: FactsOf): Truth {
  const [column, value, name] = a.kind === "column" ? [a, b, fn] : [b, a, MIRRORED[fn]];
  const facts = factsOfColumn(column, factsOf);
  if (facts === undefined || value.kind !== "literal" || value.value === null) return UNKNOWN;
  return compared(name, facts, value.value);
}

function compared(fn: Comparison, { rowCount, nullCount, least, most, mayBeNaN }: ColumnFacts, value: Bound): Truth {
  // A null is neither smaller nor larger, nor equal. A value of another kind than the column's is still an error: types are asked for without rows, too.
  if (nullCount === rowCount) return { yes: false, no: false };
  const low = least === undefined ? undefined : orderOf(least, value);
  const high = most === undefined ? undefined : orderOf(most, value);
  if (low === undefined || high === undefined) return UNKNOWN;
  switch (fn) {
    case "eq":
      return { yes: low <= 0 && high >= 0, no: low !== 0 || high !== 0 || mayBeNaN };
    case "ne":
      return { yes: low !== 0 || high !== 0 || mayBeNaN, no: low <= 0 && high >= 0 };
    case "gt":
      return { yes: high > 0, no: low <= 0 || mayBeNaN };
    case "ge":
      return { yes: high >= 0, no: low < 0 || mayBeNaN };
    case "lt":
      return { yes: low < 0, no: high >= 0 || mayBeNaN };
    case "le":
      return { yes: low <= 0, no: high > 0 || mayBeNaN };
  }
}

/** Below 0 where the first is smaller; undefined where the two have no order, such as a text and a number. */
function orderOf(a: Bound, b: Bound): number | undefined {
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (!isNumber(a) || !isNumber(b)) return undefined;
  return a < b ? -1 : a > b ? 1 : Number.isNaN(a) || Number.isNaN(b) ? undefined : 0;
}

function isNumber(value: Bound): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
