/**
 * A module's network in PyTorch: the process of Python that holds it, behind the calls of a learner.
 *
 * The graph of the module is traced once. Between updates the learner's module and optimizer have the numbers, so runners, checkpoints and evaluations
 * need no Python. An update begins with these numbers, where they are not those of the last one, and ends with the new ones.
 */
import {
  ActorDiedError,
  type ActorHandle,
  type ActorOptions,
  ActorUnavailableError,
  kill,
  TaskError,
  terminate,
} from "../../core/index.ts";
import { messageOf } from "../../core/internal.ts";
import { python } from "../../python/python.ts";
import type { Adam, AdamState } from "../../tensor/index.ts";
import { trace } from "../../tensor/trace.ts";
import { RLError } from "../errors.ts";
import { LEAVE_WITHIN_MS } from "../limits.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import type { ModuleOutput } from "../modules/rl-module.ts";

/** The outputs that on-policy learners take. */
export type TorchOutputs = Readonly<Record<"actionDistInputs" | "vfPreds", Float32Array>>;

interface Answer {
  /** The norm of the gradients before clipping. */
  readonly norm?: number;
  readonly outputs?: TorchOutputs;
}

interface NetworkState extends AdamState {
  readonly weights: Float32Array;
}

interface NetworkActor {
  open(): { readonly version: string; readonly device: string };
  // oxlint-disable-next-line eslint/max-params -- a call of Python
  set_state(weights: Float32Array, step: number, expAvg: Float32Array, expAvgSq: Float32Array): void;
  get_state(): NetworkState;
  // oxlint-disable-next-line eslint/max-params -- a call of Python
  advance(obs: Float32Array | null, gradients: TorchOutputs | null, lr: number, maxNorm: number | null): Answer;
  close(): void;
}

interface TorchOptions {
  readonly moduleId: string;
  readonly built: BuiltModule;
  readonly runtimeEnv: ActorOptions["runtimeEnv"] | undefined;
  readonly numCpus: number;
  readonly numGpus: number;
}

export class TorchNetwork {
  readonly #options: TorchOptions;
  readonly #recipe: object;
  #handle: ActorHandle<NetworkActor> | undefined;
  /** The numbers that the process has. */
  #known: NetworkState | undefined;

  /** @throws RLError where the module does something that a graph cannot say */
  constructor(options: TorchOptions) {
    this.#options = options;
    const { built, numCpus, numGpus, moduleId } = options;
    const { module, encoder, memory } = built;
    if (memory.size > 0)
      throw new RLError(
        `Cannot train ${moduleId} in PyTorch: framework("torch") goes with modules without a memory. Leave useLstm out, or framework("torch")`,
      );
    const width = encoder.size;
    this.#recipe = {
      graph: graphOf(moduleId, built),
      parameters: Array.from(module.namedParameters(), ([name, { shape }]) => [name, Array.from(shape)]),
      width,
      threads: Math.max(1, Math.floor(numCpus)),
      gpus: numGpus,
    };
  }

  /** Starts the process, if there is none. @throws RLError where it cannot make the network */
  async open(): Promise<void> {
    if (this.#handle !== undefined) return;
    const { runtimeEnv, numGpus } = this.#options;
    const actorClass = python.actor<NetworkActor, [recipe: object]>("shoal._rl_torch", "NetworkActor", {
      numCpus: 0,
      ...(numGpus === 0 ? {} : { numGpus }),
      ...(runtimeEnv === undefined ? {} : { runtimeEnv }),
    });
    this.#handle = actorClass.remote(this.#recipe);
    this.#known = undefined;
    try {
      await this.#call((handle) => handle.open.remote());
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Begins an update from the numbers of a module and its optimizer. */
  async begin(optimizer: Adam): Promise<void> {
    await this.open();
    const { step, expAvg, expAvgSq } = optimizer.getState();
    const weights = optimizer.parameters.data.slice();
    const known = this.#known;
    const isKnown =
      known?.step === step && isSame(known.weights, weights) && isSame(known.expAvg, expAvg) && isSame(known.expAvgSq, expAvgSq);
    if (!isKnown) await this.#call((handle) => handle.set_state.remote(weights, step, expAvg, expAvgSq));
    this.#known = undefined;
  }

  /** Makes a step by the gradients of the last outputs, and computes the outputs of rows. */
  async advance(
    { obs, gradients }: { obs: Float32Array | undefined; gradients: TorchOutputs | undefined },
    { lr, maxGradNorm }: Pick<Adam, "lr" | "maxGradNorm">,
  ): Promise<Answer> {
    return await this.#call((handle) => handle.advance.remote(obs ?? null, gradients ?? null, lr, maxGradNorm));
  }

  /** Ends an update: the module and its optimizer get the new numbers. */
  async end(optimizer: Adam): Promise<void> {
    const state = await this.#call((handle) => handle.get_state.remote());
    const { weights, ...moments } = state;
    optimizer.parameters.data.set(weights);
    optimizer.setState(moments);
    this.#known = state;
  }

  async #call<R>(run: (handle: ActorHandle<NetworkActor>) => PromiseLike<R>): Promise<R> {
    const { moduleId } = this.#options;
    const handle = this.#handle as ActorHandle<NetworkActor>;
    try {
      return await run(handle);
    } catch (error) {
      if ([ActorDiedError, ActorUnavailableError].some((type) => error instanceof type)) {
        await this.#drop(handle);
        throw new TorchDiedError(`Cannot train ${moduleId} in PyTorch: its Python process ended: ${messageOf(error)}`, { cause: error });
      }
      const thrown = error instanceof TaskError ? (error.cause ?? error) : error;
      throw new RLError(`Cannot train ${moduleId} in PyTorch: ${messageOf(thrown)}`, { cause: thrown });
    }
  }

  async #drop(handle: ActorHandle<NetworkActor>): Promise<void> {
    if (this.#handle === handle) this.#handle = undefined;
    this.#known = undefined;
    await kill(handle).catch(() => {});
  }

  async stop(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    if (handle === undefined) return;
    try {
      await handle.close.options({ timeoutMs: LEAVE_WITHIN_MS }).remote();
      await terminate(handle);
    } catch {
      await kill(handle).catch(() => {});
    }
  }
}

/** The Python process ended: the next one can do the update again. */
export class TorchDiedError extends RLError {}

function graphOf(moduleId: string, { module, encoder }: BuiltModule): object {
  const checked = ({
    actionDistInputs,
    vfPreds,
  }: ModuleOutput): { actionDistInputs: NonNullable<ModuleOutput["actionDistInputs"]>; vfPreds: NonNullable<ModuleOutput["vfPreds"]> } => {
    if (actionDistInputs !== undefined && vfPreds !== undefined) return { actionDistInputs, vfPreds };
    throw new RLError("forward() returned no actionDistInputs, or no vfPreds");
  };
  try {
    return trace({
      layer: module,
      inputs: { obs: [-1, encoder.size] },
      forward: ({ obs }) => checked(module.forwardTrain({ obs: obs as NonNullable<typeof obs> })),
    });
  } catch (cause) {
    throw new RLError(`Cannot train ${moduleId} in PyTorch: ${messageOf(cause)}`, { cause });
  }
}

function isSame(one: Float32Array, other: Float32Array): boolean {
  return one.length === other.length && one.every((value, at) => value === other[at]);
}
