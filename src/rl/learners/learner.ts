/**
 * Learners: turn batches into updates of a module.
 *
 * A subclass says the loss. This base logs the numbers of an iteration and counts updates whose gradients are not finite: they change nothing, and several in a row end the run
 * with the name of the module. `OnPolicyLearner` learns from whole fragments, `ReplayLearner` from draws of a buffer.
 */
import { backward, type Optimizer, type RandomState, type Tensor } from "../../tensor/index.ts";
import { RLError } from "../errors.ts";
import { SKIPPED_UPDATES_MAX } from "../limits.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import type { Fragment } from "../sequences/fragment.ts";
import type { NumericArray } from "../spaces/dtype.ts";

/** Values of the configuration that every learner uses. */
export interface LearnerConfig {
  readonly gamma: number;
  readonly gradClip: number | undefined;
}

/** Everything from which a learner goes on as if it had not stopped. */
export interface LearnerState {
  /** Numbers and streams, in JSON. */
  readonly data: Readonly<Record<string, LearnerDatum>>;
  /** The moments of optimizers, and further networks, by name. */
  readonly arrays: Readonly<Record<string, Float32Array>>;
}

type LearnerDatum = number | RandomState | Readonly<Record<string, number>> | readonly RandomState[];

/** Means over the updates of an iteration, by name. */
export type LearnerResult = Readonly<Record<string, number>>;

/** A gradient that a runner has computed. */
export interface ModuleGradient {
  /** In the order of the parameters: a mean over the rows. */
  readonly gradient: Float32Array;
  /** The loss and its parts. */
  readonly result: LearnerResult;
}

/** The work of a learner in the process of a runner. */
export interface Digest {
  readonly gradient?: ModuleGradient;
  /** By row of the fragment. */
  readonly priorities?: Float32Array;
}

export interface LearnerSetup<Config> {
  readonly moduleId: string;
  readonly built: BuiltModule;
  /** Makes another module like the first, such as a target. */
  readonly buildTwin: () => BuiltModule;
  readonly config: Config;
  readonly seed: number;
}

export abstract class Learner<Config extends LearnerConfig = LearnerConfig> {
  readonly moduleId: string;
  readonly built: BuiltModule;
  readonly config: Config;
  readonly #logged = new Map<string, { sum: number; count: number }>();
  #skipped = 0;

  constructor({ moduleId, built, config }: LearnerSetup<Config>) {
    this.moduleId = moduleId;
    this.built = built;
    this.config = config;
  }

  abstract getState(): LearnerState;
  /** @throws RangeError where the state is of another network */
  abstract setState(state: LearnerState): void;

  /** Works on a fragment in the process of the runner that sampled it. The result replaces the members of the sample that it names. */
  digest(_fragment: Fragment, _envSteps: number): Digest & { readonly fragment?: Fragment } {
    return {};
  }

  /** The means since the last `clear`; `undefined` where nothing was learnt. */
  get result(): LearnerResult | undefined {
    if (this.#logged.size === 0) return undefined;
    return Object.fromEntries(Array.from(this.#logged, ([name, { sum, count }]) => [name, sum / count]));
  }

  /** Shows the means over the results of other learners from now on. */
  take(results: readonly LearnerResult[]): void {
    this.clear();
    for (const result of results) for (const [name, value] of Object.entries(result)) this.log(name, value);
  }

  clear(): void {
    this.#logged.clear();
  }

  /** Adds a number to the result. */
  protected log(name: string, value: Tensor | number): void {
    const number = typeof value === "number" ? value : value.item();
    if (!Number.isFinite(number)) return;
    const logged = this.#logged.get(name);
    if (logged === undefined) this.#logged.set(name, { sum: number, count: 1 });
    else {
      logged.sum += number;
      logged.count += 1;
    }
  }

  /** Replaces a number of the result, which is no mean. */
  protected note(name: string, value: number): void {
    this.#logged.set(name, { sum: value, count: 1 });
  }

  /** Lets an optimizer step by the gradients of a loss. @returns the norm of the gradients; one that is not finite changed nothing */
  protected descend(loss: Tensor, optimizer: Optimizer): number {
    optimizer.zeroGrad();
    backward(loss);
    return this.follow(optimizer);
  }

  /** Lets an optimizer step by the gradients that stand in the parameters. */
  protected follow(optimizer: Optimizer): number {
    return this.stepped(optimizer.step());
  }

  /** Counts a step whose gradients have this norm. @returns the norm */
  protected stepped(norm: number): number {
    this.#skipped = Number.isFinite(norm) ? 0 : this.#skipped + 1;
    if (this.#skipped >= SKIPPED_UPDATES_MAX)
      throw new RLError(
        `Cannot learn: the gradients of module ${this.moduleId} were not finite in ${this.#skipped} updates in a row. Lower lr, set gradClip, or look for NaN in observations and rewards`,
      );
    return norm;
  }
}

/** Copies the chosen rows of a column, each of `width` numbers. */
export function gather(from: NumericArray, chosen: Int32Array, { into, width }: { into: NumericArray; width: number }): void {
  let at = 0;
  for (const row of chosen) for (let element = row * width; element < (row + 1) * width; element += 1) into[at++] = from[element] as number;
}

/** A class of learners, of one's own or an algorithm's. */
// oxlint-disable-next-line no-explicit-any -- each algorithm has values of its own
export type LearnerClass = new (setup: LearnerSetup<any>) => Learner<any>;

/** The learner that works in the processes of runners, in a form that travels. */
export interface RunnerLearning {
  readonly learnerClass: LearnerClass;
  /** Values of `training()` for each module that learns. */
  readonly configs: Readonly<Record<string, object>>;
}
