/**
 * Follows runs in Weights & Biases, through its own Python library. Its credentials come from the actor's environment (`WANDB_API_KEY`, `wandb login`) and are in no option, so they get
 * into no file of a run.
 */
import { custom, isPlainObject, oneOf, readOptions, text } from "../core/internal.ts";
import { PythonRunsTracker, type PythonTrackerOptions } from "./python-tracker.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "./tracker.ts";

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
    tags: custom<readonly string[] | undefined>("a list of texts is needed", undefined, (value) =>
      Array.isArray(value) && value.every((tag) => typeof tag === "string") ? "ok" : "wrong type",
    ),
    runtimeEnv: custom<PythonTrackerOptions["runtimeEnv"]>("a runtime environment is needed", undefined, (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
  },
};

export class WandbLoggerCallback implements Tracker {
  readonly name = "WandbLoggerCallback";
  readonly #runs: PythonRunsTracker;

  /** @throws TypeError, RangeError for options that do not exist, and for values that are none of theirs */
  constructor(options?: WandbLoggerOptions) {
    const { runtimeEnv, project, group, entity, mode, dir, tags } = readOptions(options, OPTIONS);
    this.#runs = new PythonRunsTracker({
      name: this.name,
      className: "WandbRuns",
      runtimeEnv,
      options: {
        project: project ?? null,
        group: group ?? null,
        init: { entity: entity ?? null, mode: mode === "" ? null : mode, dir: dir ?? null, tags: tags ?? null },
      },
    });
  }

  open(run: TrackedRunInfo): Promise<TrackedRun> {
    return this.#runs.open(run);
  }
}
