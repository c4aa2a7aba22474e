/**
 * Functions of users in expressions. They see whole columns of a block, as functions of `mapBatches` do, and give a column of as many values.
 *
 * A block without rows is not shown to them.
 */
import { describeValue, ignoreRejection, isThenable } from "../../core/internal.ts";
import { userColumn, vectorOfGiven } from "../blocks/batch.ts";
import { type Block, namingColumn } from "../blocks/block.ts";
import { Column, vectorOfColumn } from "../blocks/column.ts";
import { type DataType, NULL, sameType } from "../blocks/data-type.ts";
import { kindOfArray, nullVector, type ValueArray, type Vector } from "../blocks/vector.ts";
import { buildVector, MisfitError, vectorOfArray } from "../blocks/vector-builder.ts";
import { failureAt } from "../engine/tasks/user-errors.ts";
import { DataError } from "../errors.ts";
import { expressionText, type UserCallNode } from "./nodes.ts";

interface Input {
  /** For messages. */
  readonly name: string;
  readonly vector: Vector;
}

/** @param name - the operator, for messages */
export function userValues(block: Block, node: UserCallNode, inputs: readonly Input[], name: string): Vector {
  const { rowCount } = block;
  if (rowCount === 0) return nullVector(node.type ?? NULL, 0);
  const columns = inputs.map((input) => namingColumn(input.name, () => userColumn(input.vector, input.name)));
  const place = `${name}: ${expressionText(node)}`;
  let given: unknown;
  try {
    given = Reflect.apply(node.fn, undefined, columns);
  } catch (error) {
    throw failureAt(error, name, block, [0, rowCount - 1]);
  }
  if (isThenable(given)) {
    ignoreRejection(given);
    throw new DataError(`${place} gave a promise`, {
      hint: "a function of udf gives its values at once: functions that await belong in mapBatches",
    });
  }
  const vector = givenVector(given, node, place);
  if (vector.length !== rowCount)
    throw new DataError(`${place} gives a value for each of the ${rowCount} rows that it is shown: received ${vector.length} values`);
  return vector;
}

function givenVector(given: unknown, { type, name }: UserCallNode, place: string): Vector {
  try {
    return type === undefined ? vectorOfGiven(given, name, place) : typedVector(given, type, place);
  } catch (error) {
    if (error instanceof MisfitError) throw new DataError(`${place}: value ${error.row} ${error.problem}`);
    throw error;
  }
}

function typedVector(given: unknown, type: DataType, place: string): Vector {
  if (given instanceof Column) {
    const vector = vectorOfColumn(given);
    return sameType(vector.type, type) ? vector : buildVector(given.toArray(), type);
  }
  const kind = kindOfArray(given);
  if (kind === type.kind) return { ...vectorOfArray(given as ValueArray), type };
  if (kind === undefined && !Array.isArray(given))
    throw new DataError(`${place} gives an array, a typed array or a Column: received ${describeValue(given)}`);
  return buildVector(given as ArrayLike<unknown>, type);
}
