/**
 * The statistics of a Parquet row group, as far as filters can trust them.
 *
 * Only `min_value` and `max_value` are read, because their order is defined. Texts that were cut amid a character have no bounds here, nor have types whose
 * values change on reading. Lists also a schema's columns, and those that would make the decoder refuse the whole file.
 */
import type { RowGroup as Group, SchemaElement } from "hyparquet";
import type { ColumnFacts } from "../../expressions/may-match.ts";

/** The root's children: the schema is a tree in prefix order. */
export function topLevelElements(schema: readonly SchemaElement[]): SchemaElement[] {
  const elements: SchemaElement[] = [];
  let at = 1;
  const skip = (): void => {
    const children = schema[at]?.num_children ?? 0;
    at += 1;
    for (let i = 0; i < children; i += 1) skip();
  };
  while (at < schema.length) {
    elements.push(schema[at] as SchemaElement);
    skip();
  }
  return elements;
}

/** The column with a map that is repeated itself, which the decoder refuses with the whole file. */
export function columnOfRepeatedMaps(schema: readonly SchemaElement[]): string | undefined {
  const isRepeatedMap = ({ repetition_type, converted_type }: SchemaElement): boolean =>
    repetition_type === "REPEATED" && (converted_type === "MAP" || converted_type === "MAP_KEY_VALUE");
  const at = schema.findIndex((element, i) => isRepeatedMap(element) && !isMap(schema[i - 1]));
  return at < 0 ? undefined : topLevelElements(schema).findLast((element) => schema.indexOf(element) <= at)?.name;
}

/** Within a map stands its repeated pair of key and value, which older files mark as a map, too. */
function isMap(element: SchemaElement | undefined): boolean {
  return element?.converted_type === "MAP" || element?.logical_type?.type === "MAP";
}

/** By name, of those that are asked for and known. Parts of structs and lists are not. */
export function factsOfGroup(
  schema: readonly SchemaElement[],
  { columns, num_rows }: Group,
  asked: readonly string[],
): ReadonlyMap<string, ColumnFacts> {
  const facts = new Map<string, ColumnFacts>();
  const elements = asked.length === 0 ? [] : topLevelElements(schema);
  for (const { meta_data: column } of columns) {
    const [name, ...parts] = column?.path_in_schema ?? [];
    if (column?.statistics === undefined || name === undefined || parts.length > 0 || !asked.includes(name)) continue;
    const element = elements.find((one) => one.name === name);
    if (element === undefined || element.repetition_type === "REPEATED") continue;
    const { null_count, min_value, max_value } = column.statistics;
    const rowCount = Number(num_rows);
    const base = { rowCount, nullCount: null_count === undefined ? undefined : Number(null_count), mayBeNaN: isFloat(element) };
    const [least, most] = [boundOf(element, min_value, -1), boundOf(element, max_value, 1)];
    facts.set(name, least === undefined || most === undefined ? base : { ...base, least, most });
  }
  return facts;
}

function isFloat({ type }: SchemaElement): boolean {
  return type === "FLOAT" || type === "DOUBLE";
}

type Bound = NonNullable<ColumnFacts["least"]>;

/** @param direction - where a bound that is not exact goes */
function boundOf(element: SchemaElement, value: unknown, direction: -1 | 1): Bound | undefined {
  const { type, converted_type, logical_type } = element;
  switch (typeof value) {
    case "boolean":
      return type === "BOOLEAN" ? value : undefined;
    case "number":
    case "bigint": {
      const isPlain = isFloat(element) || isInteger(converted_type, logical_type?.type);
      return isPlain && (type === "INT32" || type === "INT64" || isFloat(element)) && !Number.isNaN(value) ? value : undefined;
    }
    case "string":
      // A character that was cut in two became the replacement character, which may be on the wrong side.
      return (converted_type === "UTF8" || logical_type?.type === "STRING") && !value.includes("\uFFFD") ? value : undefined;
    default:
      // Digits finer than a millisecond were cut off.
      return value instanceof Date && !Number.isNaN(value.getTime()) ? new Date(value.getTime() + direction) : undefined;
  }
}

const INTEGERS: readonly (string | undefined)[] = ["INT_8", "INT_16", "INT_32", "INT_64", "UINT_8", "UINT_16", "UINT_32", "UINT_64"];

function isInteger(converted: string | undefined, logical: string | undefined): boolean {
  return (converted === undefined && logical === undefined) || logical === "INTEGER" || INTEGERS.includes(converted);
}
