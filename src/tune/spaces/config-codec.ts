/**
 * Configurations, names and paths in JSON, for the log of a run, and back.
 *
 * Logs are not believed: folders of trials and paths of checkpoints are checked as they are read (`runs/folder/run-paths.ts`).
 *
 * A configuration may hold what JSON has no form for: a function or an instance among the options of a choice, a `Date`, a bigint. Such values come from the space, which the
 * program gives again when it restores the run, so the record names their place among the space's such values. A value that is not found there (one that `sampleFrom` made) is lost: a trial
 * that needs it again fails and says so.
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import type { FinishedTrial, SavedTrial } from "../trials/live-trial.ts";
import { checkName } from "../../runs/folder/run-names.ts";
import type { RunPaths } from "../../runs/folder/run-paths.ts";
import { isDomain, type SearchSpace } from "./space.ts";
import type { Config, JsonValue, Metrics } from "../trials/trial.ts";
import type { TrialEvent } from "../experiment/trial-events.ts";
import type { SavedMachine } from "../experiment/trial-machine.ts";

/** Marks the replacement of a value of the space. A user's key that begins with it is escaped by another mark. */
const MARK = "$shoal";

export class ConfigCodec {
  /** Values of the space that JSON has no form for, in the order of the space. */
  readonly #foreign: unknown[] = [];
  readonly #paths: RunPaths;

  constructor(space: SearchSpace, paths: RunPaths) {
    this.#paths = paths;
    this.#collect(space, 0);
  }

  eventRecord(event: TrialEvent): JsonValue {
    if (event.type === "suggested") return { ...event, config: this.#encode(event.config) } as unknown as JsonValue;
    if (!("checkpoint" in event)) return event as unknown as JsonValue;
    return { ...event, checkpoint: this.#paths.recorded(event.checkpoint) };
  }

  /** Returns an event's record with the scheduler's decisions on it, if those cannot be made again (`recorded-decisions.ts`). */
  withDecisions(record: JsonValue, decisions: readonly unknown[]): JsonValue {
    return { ...(record as Record<string, JsonValue>), decided: this.#encode(decisions) };
  }

  readDecisions(record: JsonValue): JsonValue[] {
    return this.#decode((record as { decided?: JsonValue }).decided ?? []) as JsonValue[];
  }

  readEvent(record: JsonValue): TrialEvent {
    const event = record as unknown as TrialEvent;
    if (event.type === "suggested") return { ...checkedTrial(event, event.trialId), config: this.#decode(event.config) as Config };
    return "checkpoint" in event ? { ...event, checkpoint: this.#paths.resolved(event.checkpoint) } : event;
  }

  machineRecord(saved: SavedMachine): JsonValue {
    const encoded = <T extends SavedTrial | FinishedTrial>(trial: T): T => ({
      ...withPaths(trial, (path) => this.#paths.recorded(path)),
      config: this.#encode(trial.config) as Config,
    });
    return definedOnly({ ...saved, live: saved.live.map(encoded), finished: saved.finished.map(encoded) });
  }

  readMachine(record: JsonValue): SavedMachine {
    const saved = record as unknown as SavedMachine;
    const decoded = <T extends SavedTrial | FinishedTrial>(trial: T): T => ({
      ...withPaths(checkedTrial(trial, trial.id), (path) => this.#paths.resolved(path)),
      config: this.#decode(trial.config) as Config,
    });
    return { ...saved, live: saved.live.map(decoded), finished: saved.finished.map(decoded) };
  }

  /** For people and files: what JSON has no form for is shown in a few words. */
  static shown(config: Config): Metrics {
    return shownValue(config) as Metrics;
  }

  #collect(value: unknown, depth: number): void {
    if (depth > 64 || isJsonLeaf(value)) return;
    if (isDomain(value)) {
      if (value.kind === "choice") for (const option of value.options) this.#collect(option, depth + 1);
      if (value.kind === "grid") for (const option of value.values) this.#collect(option, depth + 1);
    } else if (Array.isArray(value) || isPlainObject(value)) for (const part of Object.values(value)) this.#collect(part, depth + 1);
    else this.#foreign.push(value);
  }

  #encode(value: unknown): JsonValue {
    if (isJsonLeaf(value)) return value;
    if (Array.isArray(value)) return value.map((part) => this.#encode(part));
    if (!isPlainObject(value)) {
      const index = this.#foreign.findIndex((foreign) => Object.is(foreign, value));
      return index >= 0 ? { [MARK]: "space", index } : { [MARK]: "lost", was: describeValue(value) };
    }
    const encoded: Record<string, JsonValue> = {};
    for (const [key, part] of Object.entries(value)) define(encoded, key, this.#encode(part));
    return Object.hasOwn(encoded, MARK) ? { [MARK]: "escaped", value: encoded } : encoded;
  }

  #decode(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#decode(part));
    if (!isPlainObject(value)) return value;
    if (Object.hasOwn(value, MARK)) {
      if (value[MARK] === "space") return this.#foreign[value.index as number];
      if (value[MARK] === "lost") return undefined;
    }
    const inner = Object.hasOwn(value, MARK) ? (value.value as Record<string, unknown>) : value;
    const decoded: Record<string, unknown> = {};
    for (const [key, part] of Object.entries(inner)) define(decoded, key, this.#decode(part));
    return decoded;
  }
}

/** @throws TypeError, RangeError for ids and folders of trials that would lead out of the run's folder */
function checkedTrial<T extends { readonly dirname: string }>(trial: T, id: string): T {
  checkName(id, "Cannot read the run's log: the id of a trial");
  checkName(trial.dirname, `Cannot read the run's log: the folder of trial ${id}`);
  return trial;
}

function withPaths<T extends SavedTrial | FinishedTrial>(trial: T, pathOf: (path: string) => string): T {
  const withPath = <C extends { readonly path: string }>(checkpoint: C): C => ({ ...checkpoint, path: pathOf(checkpoint.path) });
  const checkpoints = trial.checkpoints.map(withPath);
  return "start" in trial && trial.start !== null ? { ...trial, checkpoints, start: withPath(trial.start) } : { ...trial, checkpoints };
}

function isJsonLeaf(value: unknown): value is string | number | boolean | null {
  return value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function define(into: object, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(into, key, { value, enumerable: true, writable: true, configurable: true });
  else (into as Record<string, unknown>)[key] = value;
}

function shownValue(value: unknown): JsonValue {
  if (isJsonLeaf(value)) return value;
  if (Array.isArray(value)) return value.map(shownValue);
  if (!isPlainObject(value)) return typeof value === "function" && value.name !== "" ? value.name : describeValue(value);
  const shown: Record<string, JsonValue> = {};
  for (const [key, part] of Object.entries(value)) define(shown, key, shownValue(part));
  return shown;
}

/** JSON has no `undefined`: such properties are left out, at every depth. */
function definedOnly(value: unknown): JsonValue {
  if (Array.isArray(value)) return value.map(definedOnly);
  if (!isPlainObject(value)) return value as JsonValue;
  const defined: Record<string, JsonValue> = {};
  for (const [key, part] of Object.entries(value)) if (part !== undefined) define(defined, key, definedOnly(part));
  return defined;
}
