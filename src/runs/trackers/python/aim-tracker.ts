/**
 * Follows runs in Aim, through its own Python library: parameters, metrics and texts by iteration, the state at the end. A continued run
 * continues there, too. Aim keeps runs in a folder (`.aim`), or on its server (`aim://host:port`); `aim up` shows them.
 */
import { readOptions, text, texts } from "../../../core/internal.ts";
import { PythonRunsTracker, type PythonTrackerOptions, RUNTIME_ENV } from "./python-tracker.ts";

export interface AimLoggerOptions extends PythonTrackerOptions {
  /** A folder, or the address of a server. Default: the repository that Aim finds from the actor's working directory, or a new one there. */
  readonly repo?: string | undefined;
  /** Default: the run's name. */
  readonly experimentName?: string | undefined;
  /** Names of tracked metrics, those of nested values joined by `/`. Default: all numbers and texts. */
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
    metrics: texts("a list of names is needed", undefined),
    runtimeEnv: RUNTIME_ENV,
  },
};

export class AimLoggerCallback extends PythonRunsTracker {
  /** @throws TypeError, RangeError for unknown options, and for invalid values */
  constructor(given?: AimLoggerOptions) {
    const { runtimeEnv, ...options } = readOptions(given, OPTIONS);
    super({ name: OPTIONS.of, className: "AimRuns", runtimeEnv, options });
  }
}
