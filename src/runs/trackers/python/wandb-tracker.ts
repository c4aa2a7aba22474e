/**
 * Follows runs in Weights & Biases, through its own Python library. Credentials come from the actor's environment (`WANDB_API_KEY`, `wandb
 * login`) and are no options, so they get into no file of a run.
 */
import { oneOf, readOptions, text, texts } from "../../../core/internal.ts";
import { PythonRunsTracker, type PythonTrackerOptions, RUNTIME_ENV } from "./python-tracker.ts";

export interface WandbLoggerOptions extends PythonTrackerOptions {
  /** Default: the run's name. */
  readonly project?: string | undefined;
  /** Default: none. */
  readonly group?: string | undefined;
  readonly entity?: string | undefined;
  /** Default: `WANDB_MODE`, or `"online"`. */
  readonly mode?: "online" | "offline" | "disabled" | undefined;
  /** Where its files go. Default: `WANDB_DIR`, or the actor's working directory. */
  readonly dir?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

const OPTIONS = {
  of: "WandbLoggerCallback",
  otherNames: { apiKey: "set WANDB_API_KEY, in the environment or with runtimeEnv: { envVars }" },
  options: {
    project: text<string | undefined>(undefined),
    group: text<string | undefined>(undefined),
    entity: text<string | undefined>(undefined),
    mode: oneOf<"online" | "offline" | "disabled" | "">(["online", "offline", "disabled"], ""),
    dir: text<string | undefined>(undefined),
    tags: texts("a list of texts is needed", undefined),
    runtimeEnv: RUNTIME_ENV,
  },
};

export class WandbLoggerCallback extends PythonRunsTracker {
  /** @throws TypeError, RangeError for unknown options, and for invalid values */
  constructor(given?: WandbLoggerOptions) {
    const { runtimeEnv, mode, ...options } = readOptions(given, OPTIONS);
    super({ name: OPTIONS.of, className: "WandbRuns", runtimeEnv, options: { ...options, mode: mode === "" ? undefined : mode } });
  }
}
