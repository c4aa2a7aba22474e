/**
 * Follows runs in Comet, through its own Python library: parameters, metrics by iteration, texts, the state at the end. A run that goes on becomes another experiment of the same name.
 * Credentials come from the actor's environment (`COMET_API_KEY`, `comet login`) and are in no option, so they get into no file of a run.
 */
import { custom, flag, isPlainObject, readOptions, text } from "../core/internal.ts";
import { PythonRunsTracker, type PythonTrackerOptions } from "./python-tracker.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "./tracker.ts";

export interface CometLoggerOptions extends PythonTrackerOptions {
  /** False writes an archive for each run, which `comet upload` sends later. Default: true. */
  readonly online?: boolean | undefined;
  /** Default: the run's name. */
  readonly projectName?: string | undefined;
  /** Default: that of the credentials. */
  readonly workspace?: string | undefined;
  /** For each experiment. Default: none. */
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
    tags: custom<readonly string[] | undefined>("a list of texts is needed", undefined, (value) =>
      Array.isArray(value) && value.every((tag) => typeof tag === "string") ? "ok" : "wrong type",
    ),
    offlineDirectory: text<string | undefined>(undefined),
    runtimeEnv: custom<PythonTrackerOptions["runtimeEnv"]>("a runtime environment is needed", undefined, (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
  },
};

export class CometLoggerCallback implements Tracker {
  readonly name = "CometLoggerCallback";
  readonly #runs: PythonRunsTracker;

  /** @throws TypeError, RangeError for options that do not exist, and for values that are none of theirs */
  constructor(options?: CometLoggerOptions) {
    const { runtimeEnv, online, projectName, workspace, tags, offlineDirectory } = readOptions(options, OPTIONS);
    this.#runs = new PythonRunsTracker({
      name: this.name,
      className: "CometRuns",
      runtimeEnv,
      options: {
        online,
        projectName: projectName ?? null,
        workspace: workspace ?? null,
        tags: tags ?? [],
        offlineDirectory: offlineDirectory ?? null,
      },
    });
  }

  open(run: TrackedRunInfo): Promise<TrackedRun> {
    return this.#runs.open(run);
  }
}
