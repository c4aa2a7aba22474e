/**
 * Follows runs in Aim, through its own Python library: parameters, metrics and texts by iteration, the state at the end. A run that goes on goes on there, too.
 * Aim keeps runs in a folder (`.aim`), or on its server (`aim://host:port`); `aim up` shows them.
 */
import { custom, isPlainObject, readOptions, text } from "../core/internal.ts";
import { PythonRunsTracker, type PythonTrackerOptions } from "./python-tracker.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "./tracker.ts";

export interface AimLoggerOptions extends PythonTrackerOptions {
  /** A folder, or the address of a server. Default: the repository that Aim finds from the actor's working directory, or a new one there. */
  readonly repo?: string | undefined;
  /** Default: the run's name. */
  readonly experimentName?: string | undefined;
  /** Names of what is tracked, those of nested values joined by `/`. Default: all numbers and texts. */
  readonly metrics?: readonly string[] | undefined;
}

const OPTIONS = {
  of: "AimLoggerCallback",
  otherNames: {
    experiment: "it is experimentName",
    experiment_name: "it is experimentName",
    systemTrackingInterval: "the actor that follows runs is not where they run: it measures nothing",
    logSystemParams: "the actor that follows runs is not where they run: its system says nothing of them",
    captureTerminalLogs: "the actor that follows runs is not where they run: it has none of their output",
  },
  options: {
    repo: text<string | undefined>(undefined),
    experimentName: text<string | undefined>(undefined),
    metrics: custom<readonly string[] | undefined>("a list of names is needed", undefined, (value) =>
      Array.isArray(value) && value.every((name) => typeof name === "string") ? "ok" : "wrong type",
    ),
    runtimeEnv: custom<PythonTrackerOptions["runtimeEnv"]>("a runtime environment is needed", undefined, (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
  },
};

export class AimLoggerCallback implements Tracker {
  readonly name = "AimLoggerCallback";
  readonly #runs: PythonRunsTracker;

  /** @throws TypeError, RangeError for options that do not exist, and for values that are none of theirs */
  constructor(options?: AimLoggerOptions) {
    const { runtimeEnv, repo, experimentName, metrics } = readOptions(options, OPTIONS);
    this.#runs = new PythonRunsTracker({
      name: this.name,
      className: "AimRuns",
      runtimeEnv,
      options: { repo: repo ?? null, experimentName: experimentName ?? null, metrics: metrics ?? null },
    });
  }

  open(run: TrackedRunInfo): Promise<TrackedRun> {
    return this.#runs.open(run);
  }
}
