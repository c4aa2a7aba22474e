/**
 * Learners that draw batches from a buffer, with target networks.
 *
 * A subclass computes its losses in `step`, and gives the errors that become priorities. Each network and optimizer that it names with `own` belongs to checkpoints. Targets follow
 * their networks by `tau` after every update, or after so many environment steps.
 */
import { Adam, type AdamOptions, type AdamState, type Layer, type Parameters, scope, type Tensor, tensor } from "../../tensor/index.ts";
import type { ReplayBatch } from "../replay/episode-replay.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { Learner, type LearnerConfig, type LearnerState } from "./learner.ts";

/** Values of the configuration that these learners use. */
export interface ReplayConfig extends LearnerConfig {
  readonly tau: number;
  /** In environment steps; 0 is after every update. */
  readonly targetNetworkUpdateFreq: number;
}

/** A batch of a buffer as tensors. All but the observations are `[rows]`. */
export interface ReplayLossBatch {
  readonly rows: number;
  /** `[rows, size]`, like `nextObs`. */
  readonly obs: Tensor;
  /** In the policy's range. */
  readonly actions: NumericArray;
  /** Sums of discounted rewards over the steps of a return. */
  readonly rewards: Tensor;
  /** The observation behind these steps. */
  readonly nextObs: Tensor;
  /** Factor of the value of `nextObs`: 0 where the world has ended. */
  readonly discounts: Tensor;
  /** Importance weights. */
  readonly weights: Tensor;
}

export abstract class ReplayLearner<Config extends ReplayConfig = ReplayConfig> extends Learner<Config> {
  readonly #networks = new Map<string, Parameters>();
  readonly #optimizers = new Map<string, Adam>();
  readonly #targets: { readonly target: Parameters; readonly source: Parameters }[] = [];
  #targetsSetAt = 0;

  /** Learns from a batch. @returns a priority for each row */
  update(batch: ReplayBatch, envSteps: number): Float32Array {
    const priorities = scope(() => this.step(tensorsOf(batch), envSteps));
    const { tau, targetNetworkUpdateFreq } = this.config;
    if (this.isTargetDue && envSteps - this.#targetsSetAt >= targetNetworkUpdateFreq) {
      for (const pair of this.#targets) follow(pair, tau);
      this.#targetsSetAt = envSteps;
    }
    return priorities;
  }

  /** Computes the losses and lets the optimizers step. @returns the priorities of the rows */
  protected abstract step(batch: ReplayLossBatch, envSteps: number): Float32Array;

  /** Whether targets may follow after this update. */
  protected get isTargetDue(): boolean {
    return true;
  }

  /** Numbers beside the networks, such as random streams. */
  protected get extra(): LearnerState["data"] {
    return {};
  }

  protected set extra(_data: LearnerState["data"]) {}

  /** Names a network beside the module, so that it belongs to checkpoints. */
  protected own(name: string, network: Layer): void {
    this.#networks.set(name, network.parameters);
  }

  /** Makes an optimizer that belongs to checkpoints. */
  protected optimizerOf(name: string, of: Layer | Parameters, options: AdamOptions = {}): Adam {
    const optimizer = new Adam(of, { lr: 0, maxGradNorm: this.config.gradClip ?? null, ...options });
    this.#optimizers.set(name, optimizer);
    return optimizer;
  }

  /** Makes a network the target of another: it begins equal, and follows. */
  protected targetOf(name: string, target: Layer, source: Layer): void {
    this.own(name, target);
    follow({ target: target.parameters, source: source.parameters }, 1);
    this.#targets.push({ target: target.parameters, source: source.parameters });
  }

  getState(): LearnerState {
    const steps: Record<string, number> = {};
    const arrays: Record<string, Float32Array> = {};
    for (const [name, { data }] of this.#networks) arrays[name] = data.slice();
    for (const [name, optimizer] of this.#optimizers) {
      const { step, expAvg, expAvgSq } = optimizer.getState();
      steps[name] = step;
      arrays[`${name}.expAvg`] = expAvg;
      arrays[`${name}.expAvgSq`] = expAvgSq;
    }
    return { data: { ...this.extra, steps, targetsSetAt: this.#targetsSetAt }, arrays };
  }

  setState({ data, arrays }: LearnerState): void {
    const { steps, targetsSetAt, ...extra } = data as { steps: Record<string, number>; targetsSetAt: number };
    for (const [name, network] of this.#networks) {
      const saved = arrays[name];
      if (saved?.length !== network.size)
        throw new RangeError(`the network ${name} has ${network.size} numbers: received ${saved?.length ?? "none"}`);
    }
    for (const [name, optimizer] of this.#optimizers)
      optimizer.setState({ step: steps[name], expAvg: arrays[`${name}.expAvg`], expAvgSq: arrays[`${name}.expAvgSq`] } as AdamState);
    for (const [name, network] of this.#networks) network.data.set(arrays[name] as Float32Array);
    this.#targetsSetAt = targetsSetAt;
    this.extra = extra;
  }
}

/** Moves a target towards its source: wholly with a `tau` of 1. */
function follow({ target, source }: { target: Parameters; source: Parameters }, tau: number): void {
  const [to, from] = [target.data, source.data];
  if (tau === 1) return to.set(from);
  for (let at = 0; at < to.length; at += 1) to[at] = (to[at] as number) + tau * ((from[at] as number) - (to[at] as number));
}

/** The columns of a batch as tensors. */
export function tensorsOf(batch: ReplayBatch): ReplayLossBatch {
  const { rows, actions } = batch;
  const column = (data: Float32Array): Tensor => tensor(data, { shape: [rows] });
  const matrix = (data: Float32Array): Tensor => tensor(data, { shape: [rows, data.length / rows] });
  return {
    rows,
    obs: matrix(batch.obs),
    actions,
    rewards: column(batch.rewards),
    nextObs: matrix(batch.nextObs),
    discounts: column(batch.discounts),
    weights: column(batch.weights),
  };
}
