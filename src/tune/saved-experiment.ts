/**
 * The experiment in a run's record, so that a restore needs only the path and the trainable. The record also lists the parts that it cannot hold.
 *
 * Options are kept as JSON, searchers and schedulers by their definitions. Code is never kept: the user has to give functions and instances of own classes again, and
 * `requireGivenAgain` names those that are missing.
 */
import { isPlainObject } from "../core/internal.ts";
import type { CheckpointConfig, FailureConfig } from "../runs/run-config.ts";
import { TuneError } from "./errors.ts";
import { choice, type DomainData, gridSearch, isDomain, type SearchSpace, toDomain } from "./space.ts";
import type { Definition, JsonValue, Mode } from "./trial.ts";

/** The details of a run's record. */
export interface SavedExperiment {
  readonly trainable: string;
  readonly runId: string;
  readonly space: JsonValue;
  readonly metrics: readonly string[];
  readonly modes: readonly Mode[];
  readonly numSamples: number;
  /** null: -1 of JSON has no Infinity. */
  readonly maxConcurrentTrials: number | null;
  readonly timeBudgetMs: number | null;
  readonly reuseActors: boolean | null;
  readonly seed: number | null;
  readonly searchAlg: Definition | null;
  readonly scheduler: Definition | null;
  /** That of the scheduler. */
  readonly asksAhead: boolean;
  readonly stop: JsonValue;
  readonly failureConfig: FailureConfig;
  readonly checkpointConfig: CheckpointConfig;
  /** Parts that were given and cannot be kept: `searchAlg`, `paramSpace`, … */
  readonly unsaved: readonly string[];
}

const DOMAIN = "$domain";
const FOREIGN = "$foreign";

/** A space in JSON. @returns `isWhole: false` where it holds what JSON has no form for */
export function encodeSpace(space: SearchSpace): { readonly encoded: JsonValue; readonly isWhole: boolean } {
  let isWhole = true;
  const encode = (value: unknown): JsonValue => {
    if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
    if (isDomain(value)) {
      if (value.kind === "sampleFrom") isWhole = false;
      if (value.kind === "choice") return { [DOMAIN]: { kind: "choice", options: value.options.map(encode) } };
      if (value.kind === "grid") return { [DOMAIN]: { kind: "grid", values: value.values.map(encode) } };
      return { [DOMAIN]: value.kind === "sampleFrom" ? { kind: "sampleFrom" } : { ...value } };
    }
    if (Array.isArray(value)) return value.map(encode);
    if (isPlainObject(value) && !Object.hasOwn(value, DOMAIN) && !Object.hasOwn(value, FOREIGN))
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, encode(part)]));
    isWhole = false;
    return { [FOREIGN]: true };
  };
  return { encoded: encode(space), isWhole };
}

/** The space that was encoded whole. */
export function decodeSpace(encoded: JsonValue): SearchSpace {
  const decode = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(decode);
    if (!isPlainObject(value)) return value;
    if (!Object.hasOwn(value, DOMAIN)) return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, decode(part)]));
    const data = value[DOMAIN] as { kind: string; options?: unknown[]; values?: unknown[] };
    if (data.kind === "choice") return choice((data.options ?? []).map(decode));
    if (data.kind === "grid") return gridSearch((data.values ?? []).map(decode));
    return toDomain(data as DomainData);
  };
  return decode(encoded) as SearchSpace;
}

/** @throws TuneError that names what was given to the first run and has to be given again */
export function requireGivenAgain(saved: SavedExperiment, given: ReadonlySet<string>, path: string): void {
  const missing = saved.unsaved.filter((name) => !given.has(name));
  if (missing.length === 0) return;
  const example = missing.map((name) =>
    name === "paramSpace" ? "paramSpace" : name === "stop" ? "runConfig: { stop }" : `tuneConfig: { ${name} }`,
  );
  throw new TuneError(
    `Cannot restore the run ${path}: its ${missing.join(" and ")} cannot be read from a folder: code in files is never run`,
    {
      hint: `give it again: Tuner.restore(path, trainable, { ${example.join(", ")} })`,
    },
  );
}
