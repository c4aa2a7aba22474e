/** Follows runs in MLflow, through its own Python client: parameters, metrics by iteration, the state at the end. A run that goes on continues its MLflow run. */
import { custom, flag, isPlainObject, readOptions, text } from "../core/internal.ts";
import { PythonRunsTracker, type PythonTrackerOptions } from "./python-tracker.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "./tracker.ts";

export interface MLflowLoggerOptions extends PythonTrackerOptions {
  /** A folder, or the address of a server. Default: what MLflow takes, `MLFLOW_TRACKING_URI` or `./mlruns`. */
  readonly trackingUri?: string | undefined;
  /** Default: as `trackingUri`. */
  readonly registryUri?: string | undefined;
  /** Default: the run's name. */
  readonly experimentName?: string | undefined;
  /** For each run. Default: none. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Whether the files of the run's folder become artifacts at its end. Default: false. */
  readonly saveArtifact?: boolean | undefined;
}

const OPTIONS = {
  of: "MLflowLoggerCallback",
  options: {
    trackingUri: text<string | undefined>(undefined),
    registryUri: text<string | undefined>(undefined),
    experimentName: text<string | undefined>(undefined),
    tags: custom<Readonly<Record<string, string>>>("an object of texts is needed", {}, (value) =>
      isPlainObject(value) && Object.values(value).every((tag) => typeof tag === "string") ? "ok" : "wrong type",
    ),
    saveArtifact: flag(false),
    runtimeEnv: custom<PythonTrackerOptions["runtimeEnv"]>("a runtime environment is needed", undefined, (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
  },
};

export class MLflowLoggerCallback implements Tracker {
  readonly name = "MLflowLoggerCallback";
  readonly #runs: PythonRunsTracker;

  /** @throws TypeError, RangeError for options that do not exist, and for values that are none of theirs */
  constructor(options?: MLflowLoggerOptions) {
    const { runtimeEnv, trackingUri, registryUri, experimentName, ...others } = readOptions(options, OPTIONS);
    this.#runs = new PythonRunsTracker({
      name: this.name,
      className: "MlflowRuns",
      runtimeEnv,
      options: { ...others, trackingUri: trackingUri ?? null, registryUri: registryUri ?? null, experimentName: experimentName ?? null },
    });
  }

  open(run: TrackedRunInfo): Promise<TrackedRun> {
    return this.#runs.open(run);
  }
}
