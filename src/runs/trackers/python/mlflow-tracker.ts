/**
 * Follows runs in MLflow, through its own Python client: parameters, metrics by iteration, the state at the end. A continued run continues
 * its MLflow run.
 */
import { custom, flag, isPlainObject, readOptions, text } from "../../../core/internal.ts";
import { PythonRunsTracker, type PythonTrackerOptions, RUNTIME_ENV } from "./python-tracker.ts";

export interface MLflowLoggerOptions extends PythonTrackerOptions {
  /** A folder, or the address of a server. Default: MLflow's own, `MLFLOW_TRACKING_URI` or `./mlruns`. */
  readonly trackingUri?: string | undefined;
  /** Default: as `trackingUri`. */
  readonly registryUri?: string | undefined;
  /** Default: the run's name. */
  readonly experimentName?: string | undefined;
  /** Tags of each run. Default: none. */
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
    runtimeEnv: RUNTIME_ENV,
  },
};

export class MLflowLoggerCallback extends PythonRunsTracker {
  /** @throws TypeError, RangeError for unknown options, and for invalid values */
  constructor(given?: MLflowLoggerOptions) {
    const { runtimeEnv, ...options } = readOptions(given, OPTIONS);
    super({ name: OPTIONS.of, className: "MlflowRuns", runtimeEnv, options });
  }
}
