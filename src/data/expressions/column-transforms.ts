/**
 * Steps of a chain that compute expressions: `filter`, `withColumn`, `withColumns` and `selectColumns`.
 *
 * The arguments are checked here, so that an error has the user's line.
 * A step one of whose expressions asks for the numbers of rows is wrapped, so that its tasks are told them.
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import { Download, Expression, NamedExpression, nodeOf, Star, Unnest } from "./expression.ts";
import { asksForRowNumbers, type ExpressionNode, expressionText, type NamedNode } from "./nodes.ts";

/** The step, which is told the numbers of the rows if an expression asks for them. */
function step(transform: Transform, nodes: readonly ExpressionNode[]): Transform {
  return nodes.some(asksForRowNumbers) ? { kind: "numbered", name: transform.name, step: transform } : transform;
}

function stepOfColumns(transform: Transform & { readonly columns: readonly NamedNode[] }): Transform {
  return step(
    transform,
    transform.columns.map(({ node }) => node),
  );
}

/** @throws TypeError for options, which are those of functions */
export function filterTransform(expression: Expression, options: object | undefined): Transform {
  if (options !== undefined)
    throw new TypeError("Cannot call filter: it takes no options with an expression, which runs where its input is made");
  const node = nodeOf(expression);
  return step({ kind: "filterExpression", name: `filter(${expressionText(node)})`, expression: node }, [node]);
}

/** Makes the transform of `withColumns`. @throws TypeError unless given an object of expressions */
export function columnsTransform(columns: Readonly<Record<string, unknown>> | Unnest): Transform {
  if (columns instanceof Unnest) {
    const node = nodeOf(columns.expression);
    return step({ kind: "unnest", name: `withColumns(unnest(${expressionText(node)}))`, expression: node }, [node]);
  }
  if (!isPlainObject(columns) || Object.keys(columns).length === 0)
    throw new TypeError(
      `Cannot call withColumns: it takes an object of expressions by the names of columns: received ${describeValue(columns)}`,
    );
  const named = Object.entries(columns).map(([name, expression]): NamedNode => {
    if (expression instanceof Expression) return { name, node: nodeOf(expression) };
    const alone = expression instanceof Unnest ? "unnest(...), which withColumns takes in place of the object" : undefined;
    const hint = expression instanceof Download ? "a download, which withColumn takes alone" : (alone ?? describeValue(expression));
    throw new TypeError(`Cannot call withColumns: it takes expressions: received ${hint} for ${JSON.stringify(name)}`);
  });
  const shown = named.map(({ name, node }) => `${name}: ${expressionText(node)}`).join(", ");
  return stepOfColumns({ kind: "withColumns", name: `withColumns(${shown})`, columns: named });
}

/** Makes the transform of `withColumn`. @throws TypeError for an invalid name or expression */
export function columnTransform(column: string, expression: unknown): Transform {
  if (typeof column !== "string")
    throw new TypeError(`Cannot call withColumn: it takes the name of a column: received ${describeValue(column)}`);
  if (expression instanceof Download) {
    const paths = nodeOf(expression.expression);
    const name = `withColumn(${column}: download(${expressionText(paths)}))`;
    return step({ kind: "download", name, column, expression: paths, onError: expression.onError }, [paths]);
  }
  if (!(expression instanceof Expression))
    throw new TypeError(
      `Cannot call withColumn: it takes an expression: received ${describeValue(expression)}; col(name) and lit(value) begin one, when(condition, value) ends with otherwise(value), and a function belongs in map`,
    );
  const node = nodeOf(expression);
  return stepOfColumns({ kind: "withColumns", name: `withColumn(${column}: ${expressionText(node)})`, columns: [{ name: column, node }] });
}

/** Makes the transform of `selectColumns`. @throws TypeError for a value that is neither a name nor a named expression, and for a repeated name */
export function selectTransform(columns: readonly unknown[]): Transform {
  if (!Array.isArray(columns))
    throw new TypeError(`Cannot call selectColumns: it takes an array of columns: received ${describeValue(columns)}`);
  const [first, ...others] = columns as readonly unknown[];
  const named = (first instanceof Star ? others : columns).map(namedNode);
  const names = named.map(({ name }) => name);
  const shown = named.map(({ name, node }) => (node.kind === "column" && node.name === name ? name : `${name}: ${expressionText(node)}`));
  const name = `selectColumns(${[...(first instanceof Star ? ["*"] : []), ...shown].join(", ")})`;
  if (columns.every((column) => typeof column === "string")) return { kind: "select", name, columns: names };
  const twice = names.find((one, i) => names.indexOf(one) !== i);
  if (twice !== undefined) throw new TypeError(`Cannot call selectColumns: two columns would be named ${JSON.stringify(twice)}`);
  if (first instanceof Star) return stepOfColumns({ kind: "withColumns", name, columns: named });
  return stepOfColumns({ kind: "project", name, columns: named });
}

function namedNode(column: unknown): NamedNode {
  if (typeof column === "string") return { name: column, node: { kind: "column", name: column } };
  if (column instanceof NamedExpression) return { name: column.name, node: nodeOf(column.expression) };
  if (column instanceof Download)
    throw new TypeError(
      "Cannot call selectColumns: it takes no download: give it to withColumn before, and select the column that it makes",
    );
  if (column instanceof Star) throw new TypeError("Cannot call selectColumns: it takes star() once, before the other columns");
  if (column instanceof Unnest)
    throw new TypeError(
      "Cannot call selectColumns: it takes no unnest(...): give it to withColumns before, and select the columns that it makes",
    );
  const hint = column instanceof Expression ? `${column.toString()} without a name: give it one by .as(name)` : describeValue(column);
  throw new TypeError(`Cannot call selectColumns: it takes names of columns, and expressions with names: received ${hint}`);
}
