/**
 * Computes expressions on blocks, a vector at a time. Runs in workers.
 *
 * The functions of an expression are kernels in the table below. Kernels know no dictionaries: a function of one dictionary column and of constants is computed
 * for the dictionary's values alone; otherwise the values are written out. An error of a row or a type shows the part of the expression that raised it.
 */
import { type Block, vectorOf } from "../blocks/block.ts";
import { typeName } from "../blocks/data-type.ts";
import { rowPlace } from "../blocks/memory/origin.ts";
import {
  codesOf,
  concatVectors,
  decodeVector,
  dictionaryOf,
  isNull,
  nullVector,
  takeVector,
  UnsafeInteger,
  type Vector,
} from "../blocks/vector.ts";
import { MisfitError } from "../blocks/vector-builder.ts";
import { DataError, DIFFERING_ROWS } from "../errors.ts";
import { arithmetic, NUMBER_FUNCTIONS, numberFunction } from "./operations/arithmetic.ts";
import { arrayToList } from "./nested/arrays.ts";
import { cast } from "./operations/cast.ts";
import { comparison, isIn } from "./operations/comparison.ts";
import { fillNull, when } from "./operations/choices.ts";
import { listContains, listFlatten, listGet, listLength, listSlice, listSort, mapPart } from "./nested/lists.ts";
import { junction, not, nullQuestion, trueRows } from "./operations/logic.ts";
import {
  type CallNode,
  expressionText,
  type ExpressionNode,
  type FunctionName,
  type NamedNode,
  type NumberFunctionName,
  ROW_NUMBER,
} from "./nodes.ts";
import { monotonicallyIncreasingId, random, uuid } from "./generators.ts";
import { expanded, type Kernel, literalVector, type Operand, RowProblem, TypeProblem } from "./operations/operand.ts";
import { structField, withNullsOf } from "./nested/structs.ts";
import { textConcat, textFunctions } from "./nested/texts.ts";
import { timeText } from "./times/time-formats.ts";
import { timeRounding } from "./times/time-rounding.ts";
import { timePart } from "./times/times.ts";
import { userValues } from "./user-calls.ts";

const KERNELS: Readonly<Record<FunctionName, Kernel>> = {
  add: arithmetic("add"),
  sub: arithmetic("sub"),
  mul: arithmetic("mul"),
  div: arithmetic("div"),
  mod: arithmetic("mod"),
  floorDiv: arithmetic("floorDiv"),
  pow: arithmetic("pow"),
  ...(Object.fromEntries(NUMBER_FUNCTIONS.map((name) => [name, numberFunction(name)])) as Record<NumberFunctionName, Kernel>),
  eq: comparison("eq"),
  ne: comparison("ne"),
  gt: comparison("gt"),
  ge: comparison("ge"),
  lt: comparison("lt"),
  le: comparison("le"),
  isIn,
  and: junction("and"),
  or: junction("or"),
  not,
  isNull: nullQuestion(true),
  isNotNull: nullQuestion(false),
  fillNull,
  when,
  cast,
  random,
  uuid,
  monotonicallyIncreasingId,
  ...textFunctions,
  "str.concat": textConcat,
  "dt.year": timePart("year"),
  "dt.month": timePart("month"),
  "dt.day": timePart("day"),
  "dt.hour": timePart("hour"),
  "dt.minute": timePart("minute"),
  "dt.second": timePart("second"),
  "dt.millisecond": timePart("millisecond"),
  "dt.weekday": timePart("weekday"),
  "dt.dayOfYear": timePart("dayOfYear"),
  "dt.strftime": timeText,
  "dt.floor": timeRounding("floor"),
  "dt.ceil": timeRounding("ceil"),
  "dt.round": timeRounding("round"),
  "list.length": listLength,
  "list.get": listGet,
  "list.contains": listContains,
  "list.slice": listSlice,
  "list.sort": listSort,
  "list.flatten": listFlatten,
  "map.keys": mapPart(0),
  "map.values": mapPart(1),
  "arr.toList": arrayToList,
  "struct.field": structField,
};

/**
 * The rows for which the expression is true; those for which it is null are left out.
 *
 * @param name - the operator, for messages
 * @throws DataError
 */
export function filteredRows(block: Block, node: ExpressionNode, name: string): Uint32Array {
  const vector = computed(block, node, name);
  if (vector.type.kind === "null") return new Uint32Array(0);
  if (vector.type.kind !== "bool")
    throw new DataError(`Cannot run ${name}: a filter is true or false for each row: ${expressionText(node)} is ${typeName(vector.type)}`, {
      hint: "compare it, such as with .ne(0) or .isNotNull()",
    });
  return trueRows(vector);
}

/**
 * Adds expressions to a block as columns: each replaces the column of its name or comes last. All expressions see the original columns.
 *
 * @throws DataError
 */
export function withColumns(block: Block, columns: readonly NamedNode[], name: string): Block {
  return placed(
    block,
    columns.map((column) => [column.name, computed(block, column.node, name)]),
  );
}

/**
 * Adds the fields of a struct to a block as columns: each replaces the column of its name or comes last. A null struct has null fields.
 *
 * @throws DataError
 */
export function unnested(block: Block, node: ExpressionNode, name: string): Block {
  const vector = computed(block, node, name);
  const { type, children } = vector;
  // A block stays as it is if all its structs are null and no type says their fields: columns that other blocks get are null there.
  if (type.kind === "null") return block;
  if (type.kind !== "struct" || type.as === "tensor")
    throw new DataError(`Cannot run ${name}: unnest takes a struct: ${expressionText(node)} is ${typeName(type)}`);
  return placed(
    block,
    type.fields.map((field, i) => [field.name, withNullsOf((children as Vector[])[i] as Vector, vector)]),
  );
}

/** Columns in the place of those of their names, or behind the others. */
function placed(block: Block, columns: readonly (readonly [name: string, vector: Vector])[]): Block {
  const names = [...block.names];
  const vectors = [...block.vectors];
  for (const [name, vector] of columns) {
    const at = names.indexOf(name);
    if (at < 0) names.push(name);
    vectors[at < 0 ? vectors.length : at] = vector;
  }
  return { rowCount: block.rowCount, names, vectors };
}

/**
 * The block with these expressions as its columns, and no others.
 *
 * @throws DataError
 */
export function projected(block: Block, columns: readonly NamedNode[], name: string): Block {
  const vectors = columns.map(({ node }) => computed(block, node, name));
  return { rowCount: block.rowCount, names: columns.map((column) => column.name), vectors };
}

/** The vector of an expression, with a row for each of the block. */
function computed(block: Block, node: ExpressionNode, name: string): Vector {
  return expanded(evaluate(block, node, name), block.rowCount);
}

function evaluate(block: Block, node: ExpressionNode, name: string): Operand {
  if (node.kind === "literal") {
    return { vector: literalVector(node.value), isConstant: true };
  }
  if (node.kind === "userCall") {
    const inputs = node.inputs.map((input) => ({ name: expressionText(input), vector: computed(block, input, name) }));
    return { vector: userValues(block, node, inputs, name), isConstant: false };
  }
  if (node.kind !== "call") {
    const column = node.kind === "column" ? node.name : ROW_NUMBER;
    const vector = vectorOf(block, column);
    if (vector !== undefined) return { vector, isConstant: false };
    const known = block.names.filter((one) => one !== ROW_NUMBER).map((one) => JSON.stringify(one));
    throw new DataError(
      `Cannot run ${name}: there is no column ${JSON.stringify(column)}: there are ${known.length === 0 ? "none" : known.join(", ")}`,
      { hint: DIFFERING_ROWS },
    );
  }
  const inputs = node.inputs.map((input) => evaluate(block, input, name));
  const isConstant = inputs.every((input) => input.isConstant);
  return { vector: call(node, inputs, block, name), isConstant };
}

/** @param block - of the rows, for messages */
function call(node: CallNode, given: readonly Operand[], block: Block, name: string): Vector {
  const ofValues = callOnDictionary(node, given);
  if (ofValues !== undefined) return ofValues;
  const inputs = given.map(({ vector, isConstant }) => ({ vector: decodeVector(vector), isConstant }));
  const isConstant = inputs.every((input) => input.isConstant);
  try {
    return KERNELS[node.fn](inputs, isConstant ? 1 : block.rowCount, node.args);
  } catch (error) {
    const place = `${name}: ${node.fn} in ${expressionText(node)}`;
    if (error instanceof TypeProblem)
      throw new DataError(`${place} ${error.message}`, error.hint === undefined ? {} : { hint: error.hint });
    // A value of constants alone is of no row, and the block may have none.
    const rowOf = (row: number): string => `${place}: ${isConstant ? "each row" : rowPlace(block, row)}`;
    if (error instanceof RowProblem || error instanceof MisfitError)
      throw new DataError(
        `${rowOf(error.row)} ${error.problem}`,
        node.fn === "cast" ? { hint: 'to have null instead: cast(type, { onError: "null" })' } : {},
      );
    if (error instanceof UnsafeInteger)
      throw new DataError(`${rowOf(error.row)} has ${error.value}, and numbers beyond 2^53 would be rounded`, {
        hint: "compute with whole numbers of 64 bits alone, which is exact",
      });
    throw error;
  }
}

/**
 * Computes the function for each value of a dictionary and for null, and maps the results to the rows.
 *
 * @returns undefined for a function of further columns, for more values than rows, and where the function fails. In that case the rows are computed one by one,
 *   since an error names its row, and the value may be unused
 */
function callOnDictionary({ fn, args }: CallNode, inputs: readonly Operand[]): Vector | undefined {
  const columns = inputs.filter(({ isConstant }) => !isConstant);
  const vector = columns[0]?.vector;
  if (columns.length !== 1 || vector?.type.kind !== "dictionary") return undefined;
  const words = dictionaryOf(vector);
  if (words.length >= vector.length) return undefined;
  const values = vector.nullCount === 0 ? words : concatVectors([words, nullVector(words.type, 1)]);
  const own = inputs.map((input) => (input.isConstant ? input : { vector: values, isConstant: false }));
  const rows = codesOf(vector);
  if (vector.nullCount > 0) for (let row = 0; row < rows.length; row += 1) if (isNull(vector, row)) rows[row] = words.length;
  try {
    return takeVector(KERNELS[fn](own, values.length, args), rows);
  } catch {
    return undefined;
  }
}
