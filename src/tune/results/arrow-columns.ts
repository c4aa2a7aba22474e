/** Columns of results as an Arrow table: numbers, flags and texts as such, everything else as its JSON. */
import { bool, float64, tableFromArrays, tableToIPC, utf8 } from "@uwdata/flechette";
import { ArrowData } from "../../core/index.ts";
import { metricsText } from "../../runs/metrics/metrics.ts";
import type { JsonValue } from "../trials/trial.ts";

export function arrowOfColumns(columns: Readonly<Record<string, readonly JsonValue[]>>): ArrowData {
  const types = Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, typeOf(values)]));
  const arrays = Object.fromEntries(
    Object.entries(columns).map(([name, values]) => [name, types[name] === "text" ? values.map(textOf) : [...values]]),
  );
  const arrowTypes = Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, type === "number" ? float64() : type === "boolean" ? bool() : utf8()]),
  );
  const bytes = tableToIPC(tableFromArrays(arrays, { types: arrowTypes }), { format: "stream" });
  if (bytes === null) throw new Error("The Arrow table of the results gave no bytes");
  return new ArrowData(bytes);
}

function typeOf(values: readonly JsonValue[]): "number" | "boolean" | "text" {
  const present = values.filter((value) => value !== null);
  if (present.length > 0 && present.every((value) => typeof value === "number")) return "number";
  if (present.length > 0 && present.every((value) => typeof value === "boolean")) return "boolean";
  return "text";
}

function textOf(value: JsonValue): string | null {
  return value === null || typeof value === "string" ? value : metricsText(value);
}
