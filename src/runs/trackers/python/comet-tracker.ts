/**
 * Follows runs in Comet, through its own Python library: parameters, metrics by iteration, texts, the state at the end. A continued run
 * becomes another experiment of the same name. Credentials come from the actor's environment (`COMET_API_KEY`, `comet login`) and are no
 * options, so they get into no file of a run.
 */
import { flag, readOptions, text, texts } from "../../../core/internal.ts";
import { PythonRunsTracker, type PythonTrackerOptions, RUNTIME_ENV } from "./python-tracker.ts";

export interface CometLoggerOptions extends PythonTrackerOptions {
  /** False writes an archive for each run, which `comet upload` sends later. Default: true. */
  readonly online?: boolean | undefined;
  /** Default: the run's name. */
  readonly projectName?: string | undefined;
  /** Default: that of the credentials. */
  readonly workspace?: string | undefined;
  /** Tags of each experiment. Default: none. */
  readonly tags?: readonly string[] | undefined;
  /** Where the archives go. Default: `COMET_OFFLINE_DIRECTORY`, or `.cometml-runs` in the actor's working directory. */
  readonly offlineDirectory?: string | undefined;
}

const OPTIONS = {
  of: "CometLoggerCallback",
  otherNames: {
    apiKey: "set COMET_API_KEY, in the environment or with runtimeEnv: { envVars }",
    saveCheckpoints: "checkpoints stay in the run's storage",
    project: "it is projectName",
  },
  options: {
    online: flag(true),
    projectName: text<string | undefined>(undefined),
    workspace: text<string | undefined>(undefined),
    tags: texts("a list of texts is needed", []),
    offlineDirectory: text<string | undefined>(undefined),
    runtimeEnv: RUNTIME_ENV,
  },
};

export class CometLoggerCallback extends PythonRunsTracker {
  /** @throws TypeError, RangeError for unknown options, and for invalid values */
  constructor(given?: CometLoggerOptions) {
    const { runtimeEnv, ...options } = readOptions(given, OPTIONS);
    super({ name: OPTIONS.of, className: "CometRuns", runtimeEnv, options });
  }
}
