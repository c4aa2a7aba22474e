/**
 * Rules on the logical plan that reduce work and change no result:
 *
 * - **Filters go down.** A filter by an expression goes below steps on other columns, below a sort, and into the inputs of a union (but not of a mix) whose
 *   blocks all have its columns. It stays above a limit, a shuffle, and users' functions.
 * - **Predicates go into the read.** A capable read gets the filters directly above it and leaves out rows that they exclude. The filters stay.
 * - **Columns go into the read.** A capable read gets the columns that the steps above it use, up to a step that names all columns: `selectColumns` or an
 *   aggregate.
 */
import { columnsOf, type ExpressionNode, renamed } from "../expressions/nodes.ts";
import type { Aggregates } from "../aggregates/group-aggregate.ts";
import type { Join } from "../engine/tables/join.ts";
import { isUserCode, type Transform } from "../engine/tasks/transform.ts";
import type { ExchangePlan, LogicalPlan } from "./logical-plan.ts";

/** @param needed - the columns that are asked for. Default: all */
export function pushDown(plan: LogicalPlan, needed?: readonly string[]): LogicalPlan {
  return intoReads(filtersDown(plan), needed, []);
}

type MapPlan = Extract<LogicalPlan, { kind: "map" }>;
type TransformOf<K extends string> = Extract<Transform, { kind: K }>;
type FilterPlan = MapPlan & { readonly transform: TransformOf<"filterExpression"> };

function isFilter(plan: LogicalPlan): plan is FilterPlan {
  return plan.kind === "map" && plan.transform.kind === "filterExpression";
}

// ---------------------------------------------------------------------------------------------------------------------
// Filters

function filtersDown(plan: LogicalPlan): LogicalPlan {
  switch (plan.kind) {
    case "map": {
      const input = filtersDown(plan.input);
      return isFilter(plan) ? sunk(plan, plan.transform.expression, input) : { ...plan, input };
    }
    case "limit":
    case "exchange":
    case "blockOrder":
      return { ...plan, input: filtersDown(plan.input) };
    case "union":
    case "combine":
      return { ...plan, inputs: plan.inputs.map(filtersDown) };
    default:
      return plan;
  }
}

/** The filter as far below as it may be. */
function sunk(filter: FilterPlan, expression: ExpressionNode, input: LogicalPlan): LogicalPlan {
  const columns = columnsOf(expression);
  if (input.kind === "map") {
    const below = belowStep(expression, columns, input.transform);
    if (below !== undefined) return { ...input, input: sunk(filter, below, input.input) };
  }
  if (input.kind === "exchange" && input.after.kind === "sortRows" && exchangeHasColumns(input, columns))
    return { ...input, input: sunk(filter, expression, input.input) };
  if (input.kind === "union" && input.mix === undefined && input.inputs.every((one) => hasColumns(one, columns)))
    return { ...input, inputs: input.inputs.map((one) => sunk(filter, expression, one)) };
  return { ...filter, transform: { ...filter.transform, expression }, input };
}

/** The expression on the rows before a step, where it gives the same there. */
function belowStep(expression: ExpressionNode, columns: readonly string[], step: Transform): ExpressionNode | undefined {
  // A function of the user would be shown other rows.
  if (isUserCode(step)) return undefined;
  switch (step.kind) {
    case "select":
      return columns.every((column) => step.columns.includes(column)) ? expression : undefined;
    case "drop":
      return columns.some((column) => step.columns.includes(column)) ? undefined : expression;
    case "withColumns":
    case "download":
      return namesMade(step).some((name) => columns.includes(name)) ? undefined : expression;
    case "rename":
    case "project": {
      const before = new Map(columns.map((column) => [column, nameBefore(column, step)]));
      if ([...before.values()].includes(undefined)) return undefined;
      return renamed(expression, (name) => before.get(name) as string);
    }
    default:
      return undefined;
  }
}

/** The columns that a step computes. */
function namesMade(step: TransformOf<"withColumns" | "download">): readonly string[] {
  return step.kind === "download" ? [step.column] : step.columns.map(({ name }) => name);
}

/** Returns a column's name before the step; undefined if the step makes or removes the column. */
function nameBefore(column: string, step: TransformOf<"rename" | "project">): string | undefined {
  if (step.kind === "project") {
    const node = step.columns.find(({ name }) => name === column)?.node;
    return node?.kind === "column" ? node.name : undefined;
  }
  const old = Object.entries(step.columns).find(([, name]) => name === column)?.[0];
  return old ?? (Object.hasOwn(step.columns, column) ? undefined : column);
}

/** Whether each block that the plan gives has the columns. Blocks without one may get it, with nulls, where they are put together with others. */
function hasColumns(plan: LogicalPlan, columns: readonly string[]): boolean {
  switch (plan.kind) {
    case "input":
      return columns.every((column) => plan.blocks.every(({ names }) => names.includes(column)));
    case "limit":
    case "blockOrder":
      return hasColumns(plan.input, columns);
    case "read":
      return columns.every((column) => plan.source.columns?.includes(column) === true);
    case "union":
      return plan.inputs.every((input) => hasColumns(input, columns));
    case "exchange":
      return exchangeHasColumns(plan, columns);
    case "map":
      return mapHasColumns(plan, columns);
    case "combine":
    case "iterable":
    case "stored":
      return false;
  }
}

function exchangeHasColumns({ before, after, input }: ExchangePlan, columns: readonly string[]): boolean {
  if (before?.kind === "partialAggregate") {
    // A pivot turns values into columns with other names.
    const given = after.kind === "pivotAggregates" ? after.keys : [...before.keys, ...before.aggregates.map(([name]) => name)];
    return columns.every((column) => given.includes(column));
  }
  if (after.kind === "mapGroups") return false;
  const keys = after.kind === "sortRows" || after.kind === "sortBlock" ? after.keys.map(({ column }) => column) : [];
  return hasColumns(input, without(columns, keys));
}

function mapHasColumns({ transform, input }: Pick<MapPlan, "transform" | "input">, columns: readonly string[]): boolean {
  switch (transform.kind) {
    case "select":
      return columns.every((column) => transform.columns.includes(column));
    case "project":
      return columns.every((column) => transform.columns.some(({ name }) => name === column));
    case "filterExpression":
      return hasColumns(input, without(columns, columnsOf(transform.expression)));
    case "withColumns":
    case "download":
      return hasColumns(input, without(columns, namesMade(transform)));
    case "drop":
      return !columns.some((column) => transform.columns.includes(column)) && hasColumns(input, columns);
    case "rename": {
      const before = columns.map((column) => nameBefore(column, transform));
      return before.every((column) => column !== undefined) && hasColumns(input, before);
    }
    case "numbered":
      return mapHasColumns({ transform: transform.step, input }, columns);
    default:
      return false;
  }
}

function without(columns: readonly string[], others: readonly string[]): string[] {
  return columns.filter((column) => !others.includes(column));
}

// ---------------------------------------------------------------------------------------------------------------------
// Reads

type Columns = readonly string[] | undefined;

/**
 * The plan with what its reads need not read told to them.
 *
 * @param needed - the columns that are asked for above; undefined: all
 * @param filters - those directly above
 */
function intoReads(plan: LogicalPlan, needed: Columns, filters: readonly ExpressionNode[]): LogicalPlan {
  switch (plan.kind) {
    case "read": {
      const source = needed === undefined && filters.length === 0 ? undefined : plan.source.pushDown?.({ columns: needed, filters });
      return source === undefined ? plan : { ...plan, name: source.name, source };
    }
    case "map": {
      const { transform } = plan;
      const own = transform.kind === "filterExpression" ? [...filters, transform.expression] : [];
      return { ...plan, input: intoReads(plan.input, neededBelow(transform, needed), own) };
    }
    case "limit":
    case "blockOrder":
      return { ...plan, input: intoReads(plan.input, needed, []) };
    case "exchange":
      return { ...plan, input: intoReads(plan.input, neededOfExchange(plan, needed), []) };
    case "combine": {
      const { combine } = plan;
      const below = combine.kind === "join" ? neededOfJoin(combine, needed) : [];
      return { ...plan, inputs: plan.inputs.map((input, i) => intoReads(input, below[i], [])) };
    }
    case "union":
      return { ...plan, inputs: plan.inputs.map((input) => intoReads(input, needed, [])) };
    default:
      return plan;
  }
}

/** The columns that a step needs, for those that are needed above it. */
function neededBelow(step: Transform, needed: Columns): Columns {
  switch (step.kind) {
    case "select":
      return merged(step.columns);
    case "project":
      return merged(step.columns.flatMap(({ node }) => columnsOf(node)));
    case "filterExpression":
      return needed && merged(needed, columnsOf(step.expression));
    case "withColumns":
      return (
        needed &&
        merged(
          without(needed, namesMade(step)),
          step.columns.flatMap(({ node }) => columnsOf(node)),
        )
      );
    case "download":
      return needed && merged(without(needed, namesMade(step)), columnsOf(step.expression));
    case "drop":
      return needed && merged(needed, step.columns);
    case "hashSplit":
      return needed && merged(needed, [step.column]);
    case "leaveOut":
      return needed && merged(needed, [step.idColumn]);
    case "rebatch":
      return needed;
    case "numbered":
      return neededBelow(step.step, needed);
    case "rename":
      return (
        needed &&
        merged(
          needed.map((column) => nameBefore(column, step) ?? column),
          Object.keys(step.columns),
        )
      );
    default:
      return undefined;
  }
}

function neededOfExchange({ before, partitioning, after }: ExchangePlan, needed: Columns): Columns {
  if (before?.kind === "partialAggregate") return neededOfAggregates(before.keys, before.aggregates);
  switch (after.kind) {
    case "sortRows":
    case "sortBlock":
      return (
        needed &&
        merged(
          needed,
          after.keys.map(({ column }) => column),
        )
      );
    case "distinctRows":
      return after.keys.length === 0 ? undefined : needed && merged(needed, after.keys);
    case "groupRows":
      return needed && merged(needed, after.keys);
    case "orderByHidden":
    case "oneBlock":
      return partitioning.kind === "hash" ? needed && merged(needed, partitioning.keys) : needed;
    default:
      return undefined;
  }
}

/** Where one side alone gives the rows, the other is asked for its keys and nothing else. Elsewhere names may have suffixes, so all columns are needed. */
function neededOfJoin({ type, leftKeys, rightKeys }: Join, needed: Columns): readonly [Columns, Columns] {
  if (type === "leftSemi" || type === "leftAnti") return [needed && merged(needed, leftKeys), rightKeys];
  if (type === "rightSemi" || type === "rightAnti") return [leftKeys, needed && merged(needed, rightKeys)];
  return [undefined, undefined];
}

/** An aggregate of one's own sees whole rows. */
function neededOfAggregates(keys: readonly string[], aggregates: Aggregates): Columns {
  if (aggregates.some(([, { kind }]) => kind === "custom")) return undefined;
  return merged(
    keys,
    aggregates.flatMap(([, { column }]) => column ?? []),
  );
}

function merged(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}
