/**
 * Trainers and RL configurations as trials: each runs its workers in a separate placement group, and only its controller is here, in the
 * driver.
 *
 * Turns the run of a `RunDefinition`, which calls `report`, into the events that the experiment pulls.
 * A trial that is paused ends its run and begins another from the checkpoint.
 */
import { getRuntimeContext } from "../../core/index.ts";
import { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";
import type { RunDefinition } from "../../runs/trainable.ts";
import { TuneError } from "../errors.ts";
import type { TrialProcess, TrialProcesses } from "./trial-processes.ts";
import type { FirstEvent, ProcessAnswer, ProcessEvent, TrialSpec } from "./trial-protocol.ts";

export class TrainerProcesses implements TrialProcesses {
  readonly #definition: RunDefinition;
  readonly #running = new Set<TrainerProcess>();

  constructor(definition: RunDefinition) {
    this.#definition = definition;
  }

  async lease(): Promise<TrialProcess> {
    const process = new TrainerProcess(this.#definition, () => this.#running.delete(process));
    this.#running.add(process);
    return process;
  }

  async close(): Promise<void> {
    for (const process of this.#running) process.kill();
    await Promise.all(Array.from(this.#running, (process) => process.settled));
  }
}

class TrainerProcess implements TrialProcess {
  readonly #definition: RunDefinition;
  readonly #onSettled: () => void;
  readonly #abort = new AbortController();
  #event = Promise.withResolvers<ProcessEvent>();
  #decision = Promise.withResolvers<"continue" | "stop">();
  #hasLeft = false;
  #since = performance.now();
  #run: Promise<void> = Promise.resolve();

  constructor(definition: RunDefinition, onSettled: () => void) {
    this.#definition = definition;
    this.#onSettled = onSettled;
    this.#event.promise.catch(() => {});
  }

  get settled(): Promise<void> {
    return this.#run;
  }

  async ready(): Promise<void> {}

  async begin(spec: TrialSpec): Promise<FirstEvent> {
    this.#abort.signal.throwIfAborted();
    this.#run = this.#start(spec);
    const { nodeId } = getRuntimeContext();
    return { ...(await this.#event.promise), process: { pid: process.pid, nodeId }, savesWhenAsked: false };
  }

  async next(answer: ProcessAnswer): Promise<ProcessEvent> {
    this.#event = Promise.withResolvers();
    this.#event.promise.catch(() => {});
    const { resolve } = this.#decision;
    this.#decision = Promise.withResolvers();
    this.#since = performance.now();
    this.#hasLeft = answer !== undefined && answer.action !== "continue";
    resolve(this.#hasLeft ? "stop" : "continue");
    return await this.#event.promise;
  }

  kill(): void {
    const reason = new TuneError("The trial is over");
    this.#abort.abort(reason);
    this.#event.reject(reason);
  }

  async free(): Promise<void> {
    await this.#run;
  }

  async #start({ config, checkpoint, trialDir, trialName }: TrialSpec): Promise<void> {
    try {
      await this.#definition.run({
        config,
        checkpoint: checkpoint === undefined ? undefined : Checkpoint.fromDirectory(checkpoint),
        folder: trialDir,
        name: trialName,
        signal: this.#abort.signal,
        report: (metrics, saved) => this.#report(metrics, saved),
      });
      this.#event.resolve(this.#hasLeft ? { type: "released" } : { type: "ended" });
    } catch (error) {
      if (this.#hasLeft) this.#event.resolve({ type: "released" });
      else this.#event.reject(error);
    } finally {
      this.#onSettled();
    }
  }

  async #report(metrics: Metrics, checkpoint: Checkpoint | undefined): Promise<"continue" | "stop"> {
    if (this.#hasLeft) return "stop";
    const elapsedMs = performance.now() - this.#since;
    this.#event.resolve({ type: "report", metrics, elapsedMs, timestampMs: Date.now(), ...(checkpoint && { stored: checkpoint.path }) });
    return await this.#decision.promise;
  }
}
