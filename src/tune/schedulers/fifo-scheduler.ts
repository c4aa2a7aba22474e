/** `FIFOScheduler`: trials run in the order in which they were added and are never stopped. Also where other schedulers choose alike. */
import type { Decision, SchedulerView, TrialScheduler } from "../scheduler.ts";
import type { Definition, JsonValue } from "../trials/trial.ts";

/** The first pending trial that fits, or the first paused one. */
export function firstInOrder(view: SchedulerView): string | undefined {
  let paused: string | undefined;
  for (const trial of view.liveTrials.values()) {
    if (trial.status === "pending" && view.fits(trial)) return trial.id;
    if (trial.status === "paused" && paused === undefined && view.fits(trial)) paused = trial.id;
  }
  return paused;
}

export class FIFOScheduler implements TrialScheduler {
  readonly definition: Definition = { type: "fifo", options: {} };

  setSearchProperties(): void {}
  onTrialAdd(): void {}

  onTrialResult(): Decision {
    return "continue";
  }

  onTrialComplete(): void {}
  onTrialError(): void {}
  onTrialRemove(): void {}

  chooseTrialToRun(view: SchedulerView): string | undefined {
    return firstInOrder(view);
  }

  save(): JsonValue {
    return null;
  }

  restore(): void {}
}
