/**
 * Samples that arrive in any order, from runners that go on while the learner works.
 *
 * Each runner has at most so many calls under way, and gets the newest weights with each. Arrivals wait in a queue that is bounded in steps: the oldest sample is dropped.
 * So a slow learner sees fresh steps, memory stays bounded, and a runner that stands still holds up nobody.
 */
import { type ObjectRef, put } from "../../core/index.ts";
import { RLError } from "../errors.ts";
import type { Weights } from "./env-runner.ts";

/** The runners of a stream. */
interface Runners<S> {
  readonly places: readonly number[];
  /** Resolves to false where there is no runner at a place for good. */
  waitFor(place: number): Promise<boolean>;
  /** @returns nothing where the runner was lost */
  sampleAt(place: number, weights: ObjectRef<Weights>): Promise<S | undefined>;
}

interface StreamOptions<S> {
  readonly runners: Runners<S>;
  readonly inFlightMax: number;
  /** Steps that may wait. The newest sample stays, also where it has more. */
  readonly waitingStepsMax: number;
  /** Takes the steps and episodes of a sample that is dropped. */
  readonly drop: (sample: S) => void;
  readonly putWeights?: (weights: Weights) => ObjectRef<Weights>;
}

/** Weights that calls under way still need. */
interface SharedWeights {
  readonly reference: ObjectRef<Weights>;
  users: number;
}

export class SampleStream<S extends { readonly steps: number }> {
  readonly #options: StreamOptions<S>;
  readonly #queue: S[] = [];
  #waitingSteps = 0;
  #weights: SharedWeights | undefined;
  /** By place: calls under way. */
  readonly #active: number[];
  readonly #calls = new Set<Promise<void>>();
  #isRunning = false;
  #error: { readonly cause: unknown } | undefined;
  #arrival = Promise.withResolvers<void>();

  constructor(options: StreamOptions<S>) {
    this.#options = options;
    this.#active = options.runners.places.map(() => 0);
  }

  /** Has the runners sample with these weights until `pause`. */
  resume(weights: Weights): void {
    this.setWeights(weights);
    this.#isRunning = true;
    for (const [place, active] of this.#active.entries())
      for (let call = active; call < this.#options.inFlightMax; call += 1) {
        const sampling = this.#sampleOn(place).finally(() => this.#calls.delete(sampling));
        this.#calls.add(sampling);
      }
  }

  /** Begins no further call. Samples under way arrive in the queue. */
  pause(): void {
    this.#isRunning = false;
  }

  /** The weights of the calls that begin from now on. */
  setWeights(weights: Weights): void {
    const { putWeights = put } = this.#options;
    this.#release(this.#weights);
    this.#weights = { reference: putWeights(weights), users: 1 };
  }

  #release(weights: SharedWeights | undefined): void {
    if (weights === undefined) return;
    weights.users -= 1;
    if (weights.users === 0) weights.reference[Symbol.dispose]();
  }

  /** Calls the runner of a place again and again. Never rejects. */
  async #sampleOn(place: number): Promise<void> {
    const { runners } = this.#options;
    this.#active[place] = (this.#active[place] as number) + 1;
    try {
      while (this.#isRunning && (await runners.waitFor(place)) && this.#isRunning) {
        const sample = await this.#sampleOnce(place);
        if (sample !== undefined) this.#add(sample);
      }
    } catch (cause) {
      this.#error = { cause };
    } finally {
      this.#active[place] -= 1;
      this.#wake();
    }
  }

  async #sampleOnce(place: number): Promise<S | undefined> {
    const weights = this.#weights as SharedWeights;
    weights.users += 1;
    try {
      return await this.#options.runners.sampleAt(place, weights.reference);
    } finally {
      this.#release(weights);
    }
  }

  #add(sample: S): void {
    this.#queue.push(sample);
    this.#waitingSteps += sample.steps;
    while (this.#queue.length > 1 && this.#waitingSteps > this.#options.waitingStepsMax) this.#options.drop(this.#shift() as S);
    this.#wake();
  }

  #shift(): S | undefined {
    const sample = this.#queue.shift();
    this.#waitingSteps -= sample?.steps ?? 0;
    return sample;
  }

  #wake(): void {
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers<void>();
  }

  /** The oldest sample; waits for one. @throws the error of an environment; RLError where all runners have ended */
  async next(until: (waiting: Promise<void>) => Promise<void>): Promise<S> {
    for (;;) {
      const error = this.#error;
      this.#error = undefined;
      if (error !== undefined) throw error.cause;
      const sample = this.#shift();
      if (sample !== undefined) return sample;
      if (this.#calls.size === 0) throw new RLError("Cannot sample: all runners have ended. restartFailedEnvRunners replaces them");
      await until(this.#arrival.promise);
    }
  }

  /** Waits for the calls under way, and forgets all samples. */
  async clear(): Promise<void> {
    this.pause();
    await Promise.all(this.#calls);
    this.#queue.length = 0;
    this.#waitingSteps = 0;
    this.#error = undefined;
  }

  /** Ends the stream. Calls under way are left to the end of their runners. */
  stop(): void {
    this.pause();
    this.#release(this.#weights);
    this.#weights = undefined;
  }
}
