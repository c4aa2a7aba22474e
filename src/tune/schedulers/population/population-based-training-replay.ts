/**
 * `PopulationBasedTrainingReplay`: runs one trial through the schedule of configurations that a trial of population based training ended with.
 *
 * A trial's policy is the text of `pbt_policy_<trial>.txt`: a line of JSON for each exploit, with both trials, the iterations of both, and
 * the configuration before and after. Only the chain of exploits counts that leads to the last line: an exploit of another trial replaces
 * all that came before it. At the iteration of a change the trial saves a checkpoint and continues from it with the next configuration.
 */
import { parseMetrics } from "../../../runs/metrics/metrics.ts";
import type { Decision, SchedulerView, TrialScheduler } from "../../scheduler.ts";
import type { Config, Definition, JsonValue, Trial, TrialResult } from "../../trials/trial.ts";
import { readText } from "../../../storage/read-file.ts";
import { firstInOrder } from "../fifo-scheduler.ts";

export interface PopulationBasedTrainingReplayOptions {
  /** The text of the policy file. `PopulationBasedTrainingReplay.fromFile` reads one. */
  policy: string;
}

interface Change {
  readonly at: number;
  readonly config: Config;
}

export class PopulationBasedTrainingReplay implements TrialScheduler {
  readonly definition: Definition;
  readonly #first: Config | undefined;
  readonly #changes: readonly Change[];
  #trialId: string | undefined;
  #done = 0;

  /** @throws TypeError for a text that is no policy, naming the line */
  constructor({ policy }: PopulationBasedTrainingReplayOptions) {
    if (typeof policy !== "string")
      throw new TypeError("Cannot replay a policy: policy is the text of a pbt_policy file; fromFile() reads one");
    const { first, changes } = readPolicy(policy);
    this.definition = { type: "pbt_replay", options: { policy } };
    this.#first = first;
    this.#changes = changes;
  }

  /** Reads a policy file, of any storage. */
  static async fromFile(path: string): Promise<PopulationBasedTrainingReplay> {
    return new PopulationBasedTrainingReplay({ policy: await readText(path) });
  }

  setSearchProperties(): void {}

  onTrialAdd(trial: Trial): Config | undefined {
    if (this.#trialId !== undefined)
      throw new RangeError(`Cannot add trial ${trial.id}: a replay runs one trial, and has ${this.#trialId}: set numSamples to 1`);
    this.#trialId = trial.id;
    return this.#first;
  }

  onTrialResult(trial: Trial, result: TrialResult): Decision {
    const change = this.#changes[this.#done];
    if (change === undefined || result.trainingIteration < change.at) return "continue";
    this.#done += 1;
    return {
      verdict: "continue",
      actions: [
        { type: "checkpoint", trialId: trial.id },
        { type: "exploit", trialId: trial.id, donorId: trial.id, config: change.config },
      ],
    };
  }

  onTrialComplete(): void {}
  onTrialError(): void {}
  onTrialRemove(): void {}

  chooseTrialToRun(view: SchedulerView): string | undefined {
    return firstInOrder(view);
  }

  save(): JsonValue {
    return { trialId: this.#trialId ?? null, done: this.#done };
  }

  restore(state: JsonValue): void {
    const saved = state as { trialId: string | null; done: number };
    this.#trialId = saved.trialId ?? undefined;
    this.#done = saved.done;
  }
}

/** Reads the first configuration, and the later changes, of the chain that ends with the last line. */
function readPolicy(text: string): { first: Config | undefined; changes: Change[] } {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const exploits = lines.map((line, index) => readLine(line, index + 1));
  const changes: Change[] = [];
  let first: Config | undefined;
  let next: string | undefined;
  for (const exploit of exploits.toReversed()) {
    if (next !== undefined && exploit.trial !== next) break;
    next = exploit.donor;
    first = exploit.before;
    changes.unshift({ at: exploit.donorIteration, config: exploit.after });
  }
  return { first, changes };
}

function readLine(line: string, number: number): { trial: string; donor: string; donorIteration: number; before: Config; after: Config } {
  let parsed: unknown;
  try {
    parsed = parseMetrics(line);
  } catch {
    parsed = undefined;
  }
  if (!Array.isArray(parsed) || parsed.length !== 6 || typeof parsed[3] !== "number")
    throw new TypeError(
      `Cannot replay a policy: line ${number} is no exploit, which is a list of six in JSON: received ${JSON.stringify(line.slice(0, 80))}`,
    );
  const [trial, donor, , donorIteration, before, after] = parsed as unknown as [string, string, number, number, Config, Config];
  return { trial, donor, donorIteration, before, after };
}
