/**
 * The files of population based training: which configurations trials went through, for `PopulationBasedTrainingReplay` and for people.
 *
 * `pbt_global.txt` has all exploits of a run; `pbt_policy_<trial>.txt` has those that led to a trial's configuration: the donor's, and the
 * trial's last one. Both are Ray's files, with a list of six in each line. The experiment reports each exploit and never waits. The files
 * follow from the run's log alone: a restored run writes all of them again. So no line is missing that a dead driver had not written, and
 * none is there that was not logged.
 */
import { messageOf } from "../core/internal.ts";
import { type AppendedFile, openAppended } from "../storage/appending/appended-file.ts";
import { writeWhole } from "../storage/listing/folders.ts";
import { joinPath } from "../storage/paths.ts";
import { metricsText } from "../runs/metrics/metrics.ts";
import { ConfigCodec } from "./spaces/config-codec.ts";
import type { JsonValue, Metrics } from "./trials/trial.ts";
import type { TrialEffect } from "./experiment/trial-events.ts";

/** An exploit: both trials, the iterations of both, and the configurations of the donor and, from then on, of the trial. */
type Exploit = readonly [trialId: string, donorId: string, iteration: number, donorIteration: number, before: Metrics, after: Metrics];

interface PolicyFilesOptions {
  /** The run's folder. */
  readonly folder: string;
  readonly onProblem: (text: string) => void;
}

export class PolicyFiles {
  readonly #options: PolicyFilesOptions;
  #exploits: Exploit[] = [];
  readonly #policies = new Map<string, readonly Exploit[]>();
  /** Trials whose files are not as their policies. */
  readonly #stale = new Set<string>();
  #global: AppendedFile | undefined;
  /** How many exploits `pbt_global.txt` has. */
  #globalLines = 0;
  #writing: Promise<void> = Promise.resolve();
  #hasFailed = false;

  constructor(options: PolicyFilesOptions) {
    this.#options = options;
  }

  add({ trialId, donorId, iteration, donorIteration, before, config }: Extract<TrialEffect, { type: "exploited" }>): void {
    this.#add([trialId, donorId, iteration, donorIteration, ConfigCodec.shown(before), ConfigCodec.shown(config)]);
  }

  save(): JsonValue {
    return [...this.#exploits];
  }

  restore(state: JsonValue): void {
    for (const exploit of state as unknown as Exploit[]) this.#add(exploit);
  }

  /** Brings the files up to date, after the writes under way. If it fails, the next call writes the missing lines. */
  write(): void {
    this.#writing = this.#writing.then(() => this.#writeStale()).catch((error: unknown) => this.#problem(error));
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#global?.close().catch((error: unknown) => this.#problem(error));
  }

  #add(exploit: Exploit): void {
    const [trialId, donorId] = exploit;
    this.#exploits.push(exploit);
    this.#policies.set(trialId, [...(this.#policies.get(donorId) ?? []), exploit]);
    this.#stale.add(trialId);
  }

  async #writeStale(): Promise<void> {
    if (this.#stale.size === 0) return;
    const { folder } = this.#options;
    this.#global ??= await openAppended(joinPath(folder, "pbt_global.txt"));
    const lines = this.#exploits.length;
    const text = textOf(this.#exploits.slice(this.#globalLines));
    // Lines of an earlier session are among the exploits, and the last one may be torn.
    if (this.#globalLines === 0) await this.#global.replace(Buffer.from(text));
    else await this.#global.append(text);
    this.#globalLines = lines;
    for (const trialId of this.#stale) {
      const policy = this.#policies.get(trialId) ?? [];
      await writeWhole(joinPath(folder, `pbt_policy_${trialId}.txt`), textOf(policy), { isDurable: false });
      if (this.#policies.get(trialId) === policy) this.#stale.delete(trialId);
    }
  }

  #problem(error: unknown): void {
    if (!this.#hasFailed) this.#options.onProblem(`cannot write the policies of the trials: ${messageOf(error)}`);
    this.#hasFailed = true;
    this.#globalLines = 0;
  }
}

function textOf(exploits: readonly Exploit[]): string {
  return exploits.map((exploit) => `${metricsText(exploit as unknown as JsonValue)}\n`).join("");
}
