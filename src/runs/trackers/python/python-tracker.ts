/**
 * The base of trackers that are Python libraries: one actor for all runs of a tracker, which has the library's own client.
 *
 * The actor starts with the first run that is opened and ends with the last one that is closed. It holds no CPU. A package that its Python lacks is named with the command that
 * installs it.
 */
import { type ActorHandle, terminate } from "../../../core/index.ts";
import { plainObject } from "../../../core/internal.ts";
import { python } from "../../../python/python.ts";
import { flatMetrics, type JsonValue, type Metrics, metricsText } from "../../metrics/metrics.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "../tracker.ts";

/** Where the Python library is: the options of an actor's environment. */
export interface PythonTrackerOptions {
  /** The environment of the actor: `{ python: "venv" }`, `{ python: ["mlflow>=3"] }`, `{ envVars: { … } }`. Default: the session's. */
  readonly runtimeEnv?: Readonly<Record<string, unknown>> | undefined;
}

/** The row of `PythonTrackerOptions` in the table of a tracker. */
export const RUNTIME_ENV = plainObject<Readonly<Record<string, unknown>>>('an object such as { python: "venv" } is needed');

/** The classes of `python/shoal/_trackers.py`. */
interface PythonRuns {
  open(run: Record<string, JsonValue>): unknown;
  log(id: string, rows: readonly TrackedRow[]): void;
  close(id: string, state: "finished" | "failed"): void;
}

type TrackedRow = { readonly step: number; readonly timestampMs: number; readonly values: Metrics };

interface PythonTracker {
  readonly name: string;
  /** Class in `python/shoal/_trackers.py`. */
  readonly className: "AimRuns" | "CometRuns" | "MlflowRuns" | "WandbRuns";
  /** Options of the class's constructor. Python has null for those that are undefined. */
  readonly options: Readonly<Record<string, JsonValue | undefined>>;
  readonly runtimeEnv: PythonTrackerOptions["runtimeEnv"];
}

export class PythonRunsTracker implements Tracker {
  readonly name: string;
  readonly #tracker: PythonTracker;
  #actor: ActorHandle<PythonRuns> | undefined;
  #openRuns = 0;

  constructor(tracker: PythonTracker) {
    this.name = tracker.name;
    this.#tracker = tracker;
  }

  async open(info: TrackedRunInfo): Promise<TrackedRun> {
    this.#openRuns += 1;
    const actor = (this.#actor ??= this.#start());
    try {
      const { id, name, experimentName, folder, isResumed } = info;
      await actor.open.remote({ id, name, experimentName, folder, isResumed, config: plainConfig(info.config) });
    } catch (error) {
      await this.#ended();
      throw error;
    }
    let reports = 0;
    return {
      log: async (results) => {
        await actor.log.remote(
          info.id,
          results.map((result) => trackedRow(result, (reports += 1))),
        );
      },
      close: async (state) => {
        try {
          await actor.close.remote(info.id, state);
        } finally {
          await this.#ended();
        }
      },
    };
  }

  #start(): ActorHandle<PythonRuns> {
    const { className, options, runtimeEnv } = this.#tracker;
    const actorClass = python.actor<PythonRuns, [options: Record<string, JsonValue>]>("shoal._trackers", className, {
      numCpus: 0,
      name: undefined,
      ...(runtimeEnv === undefined ? {} : { runtimeEnv }),
    });
    return actorClass.remote(Object.fromEntries(Object.entries(options).map(([name, value]) => [name, value ?? null])));
  }

  async #ended(): Promise<void> {
    this.#openRuns -= 1;
    if (this.#openRuns > 0 || this.#actor === undefined) return;
    const actor = this.#actor;
    this.#actor = undefined;
    await terminate(actor).catch(() => undefined);
  }
}

function trackedRow(result: Metrics, report: number): TrackedRow {
  const { trainingIteration, timestampMs, config: _, ...values } = result;
  const flat = Object.fromEntries(Array.from(flatMetrics(values), ([name, value]) => [name, plain(value)]));
  return {
    step: typeof trainingIteration === "number" ? trainingIteration : report,
    timestampMs: typeof timestampMs === "number" ? timestampMs : Date.now(),
    values: flat,
  };
}

/** A configuration by its flat names. */
function plainConfig(config: Metrics): Metrics {
  return Object.fromEntries(Array.from(flatMetrics(config), ([name, value]) => [name, plain(value)]));
}

function plain(value: JsonValue): JsonValue {
  return typeof value === "object" && value !== null ? metricsText(value) : value;
}
