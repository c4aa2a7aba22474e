/**
 * The runner of `inference: "client"`: clients choose actions on a copy of the network, and send the steps they have played.
 *
 * A client has one message under way, and gets its answer when a `sample` has taken the steps. So memory is bounded by the clients, and none of them plays far ahead of the learner.
 * Steps that were played with weights of too many versions ago are dropped and counted.
 */
import { describeValue } from "../../core/internal.ts";
import { RLError } from "../errors.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import { FrameError, type LinkMessage } from "../link/frames.ts";
import { STATE_HEADER_BYTES_MAX } from "../link/limits.ts";
import type { Request } from "../link/messages.ts";
import { DEFAULT_MODULE_ID } from "../modules/policy-mapping.ts";
import type { RunnerSpec, Sample, SampleRequest, Weights } from "../runners/env-runner.ts";
import { emptyFragment, type Fragment, joinFragments } from "../sequences/fragment.ts";
import { ExternalRunner, type Seat } from "./external-runner.ts";
import { type LinkSession, type Reply, Refusal } from "./link-session.ts";
import { type PlayedChunk, PlayedSteps } from "./played-steps.ts";

interface Waiting {
  readonly seat: Seat;
  readonly chunk: PlayedChunk;
  readonly taken: () => void;
}

export class ReceivingRunner extends ExternalRunner {
  readonly #played: PlayedSteps;
  readonly #weights: Float32Array;
  #waiting: Waiting[] = [];
  /** 0 until the first weights have come. */
  #version = 0;
  readonly #begun = Promise.withResolvers<void>();
  #ways: { explore: boolean; exploration: Exploration } = { explore: true, exploration: {} };
  #dropped = 0;

  /** @throws RLError for networks that clients cannot have */
  constructor(spec: RunnerSpec) {
    const { connectors, moduleClass, clipRewards } = spec.module;
    const hasConnectors = Array.isArray(connectors) ? connectors.length > 0 : connectors !== undefined;
    refuse(moduleClass !== undefined, "moduleClass of rlModule()");
    refuse(hasConnectors, "envToModuleConnector of envRunners()");
    refuse(clipRewards !== undefined && clipRewards !== false, "clipRewards of environment()");
    super(spec);
    refuse(this.built.memory.size > 0, "useLstm of modelConfig");
    this.#played = new PlayedSteps(this.built, this.external.chunkSteps);
    this.#weights = this.built.module.parameters.data.slice();
    const { maxFrameBytes } = this.external;
    if (this.#weights.byteLength + STATE_HEADER_BYTES_MAX > maxFrameBytes)
      throw new RLError(
        `Cannot send weights to clients: the network has ${this.#weights.byteLength} bytes, and maxFrameBytes of externalEnv() is ${maxFrameBytes}. Raise maxFrameBytes, or choose actions by inference: "server"`,
      );
  }

  setWeights(weights: Weights): void {
    this.#weights.set(weights[DEFAULT_MODULE_ID] as Float32Array);
    this.#version += 1;
  }

  async sample({ steps, explore, exploration = {} }: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    await this.ready();
    await this.events.created();
    this.#ways = { explore, exploration };
    this.#begun.resolve();
    const fragments: Fragment[] = [];
    for (let sampled = 0; sampled < steps; ) {
      const next = this.#waiting.shift();
      if (next === undefined) {
        await this.arrived(signal);
        continue;
      }
      const fragment = this.#take(next);
      next.taken();
      if (fragment === undefined) continue;
      fragments.push(fragment);
      sampled += fragment.rows;
      if (this.events.isWaiting) await this.events.settle();
    }
    const fragment = fragments.length === 0 ? emptyFragment(this.#played.none) : joinFragments(fragments);
    const dropped = this.#dropped;
    this.#dropped = 0;
    return await this.sampleOf({ fragment, increments: [] }, dropped === 0 ? [] : [{ name: "numStaleStepsDropped", sum: dropped }]);
  }

  /** @returns nothing where the steps are too old */
  #take({ seat, chunk }: Waiting): Fragment | undefined {
    const { fragment, rewards, version } = chunk;
    const { sequences } = fragment;
    for (let index = 0; index < sequences.length; index += 3) {
      const [start, length, end] = sequences.subarray(index, index + 3) as unknown as [number, number, number];
      if (!seat.isPlaying) this.begin(seat);
      for (let row = start; row < start + length; row += 1) this.step(seat, rewards[row] as number);
      if (end !== 0) this.end(seat, end === 1);
    }
    // Only policy gradients need steps of the policy of today; buffers are full of older ones.
    const isOnPolicy = (this.spec.module.policyKind ?? "stochastic") === "stochastic";
    if (!isOnPolicy || version >= this.#version - this.external.maxWeightsLag) return fragment;
    this.#dropped += fragment.rows;
    return undefined;
  }

  async answer(session: LinkSession, message: LinkMessage & { readonly type: Request }): Promise<Reply> {
    const { type, fields } = message;
    if (type === "GET_STATE") return await this.#state(fields["version"]);
    if (type !== "EPISODES" && type !== "EPISODES_AND_GET_STATE")
      throw new Refusal("ORDER", `clients choose actions here, and send EPISODES or EPISODES_AND_GET_STATE: received ${type}`);
    const seat = this.seatOf(session);
    const chunk = this.#played.read(message, { environment: this.firstLane + seat.lane, newest: this.#version });
    const taken = Promise.withResolvers<void>();
    this.#waiting.push({ seat, chunk, taken: taken.resolve });
    this.wake();
    await taken.promise;
    return type === "EPISODES" ? { type: "OK" } : await this.#state(chunk.version);
  }

  /** @param known - the version of the weights that the client has */
  async #state(known: unknown): Promise<Reply> {
    if (known !== undefined && !Number.isSafeInteger(known))
      throw new FrameError(`version is that of the client's weights, a whole number: received ${describeValue(known)}`);
    await this.#begun.promise;
    const fields = { version: this.#version, ...this.#ways };
    if (known === this.#version) return { type: "STATE", fields };
    return { type: "STATE", fields, arrays: new Map([["weights", { shape: [this.#weights.length], data: this.#weights }]]) };
  }

  protected left({ lane }: Seat): void {
    this.#waiting = this.#waiting.filter(({ seat }) => seat.lane !== lane);
  }
}

function refuse(isSet: boolean, option: string): void {
  if (isSet)
    throw new RLError(
      `Cannot let clients choose actions: they have the default networks alone, and ${option} is set. Give externalEnv() { inference: "server" }`,
    );
}
