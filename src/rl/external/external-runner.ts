/**
 * A runner whose environments are clients: the parts that both kinds of inference share.
 *
 * Owns the listener and the seats, one a client, and counts their episodes. It listens from its construction on, and answers nobody before the first `sample`,
 * as the weights are not known until then.
 */
import { EpisodeEvents } from "../callbacks/episode-events.ts";
import { RLError } from "../errors.ts";
import { Refusal, type LinkHandler, type LinkSession, type Reply } from "./link-session.ts";
import { LinkServer } from "./link-server.ts";
import type { ExternalSpec } from "./external-source.ts";
import type { LinkMessage } from "../link/frames.ts";
import type { LinkConfig, Request } from "../link/messages.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { DEFAULT_MODULE_ID } from "../modules/policy-mapping.ts";
import type { ModuleSample, Runner, RunnerSpec, Sample, SampleRequest, Weights } from "../runners/env-runner.ts";
import { cutOff } from "../runners/cut-off.ts";
import { ExternalPlace } from "./external-place.ts";

/** The place of a client. */
export interface Seat {
  readonly lane: number;
  isPlaying: boolean;
  return: number;
  length: number;
}

interface EpisodeRecord {
  readonly return: number;
  readonly length: number;
}

export abstract class ExternalRunner implements Runner, LinkHandler {
  readonly modules: ReadonlyMap<string, BuiltModule>;
  /** Has spaces alone. */
  readonly env: ExternalPlace;
  protected readonly built: BuiltModule;
  protected readonly spec: RunnerSpec;
  protected readonly external: ExternalSpec;
  protected readonly events: EpisodeEvents;
  /** The place of the first seat among those of all runners. */
  protected readonly firstLane: number;
  readonly #server: LinkServer;
  readonly #listening: Promise<void>;
  readonly #seats = new Map<LinkSession, Seat>();
  #over: EpisodeRecord[] = [];
  #arrival = Promise.withResolvers<void>();

  constructor(spec: RunnerSpec) {
    const { external } = spec.env;
    if (external === undefined) throw new RLError(`Cannot listen: ${spec.env.name} is no external environment`);
    this.spec = spec;
    this.external = external;
    this.env = new ExternalPlace(external);
    this.built = buildModule(spec.module, this.env, spec.seed);
    this.modules = new Map([[DEFAULT_MODULE_ID, this.built]]);
    this.firstLane = spec.workerIndex * external.maxClients;
    this.events = new EpisodeEvents({ ...spec, env: this.env, numEnvs: external.maxClients, firstEnv: this.firstLane });
    const port = external.port === 0 ? 0 : external.port + Math.max(0, spec.workerIndex - 1);
    this.#server = new LinkServer(external, { port, config: this.#config, handler: this });
    this.#listening = this.#server.listen().then((address) => external.onListening?.(address));
    // Looked at by ready().
    this.#listening.catch(() => {});
  }

  get #config(): LinkConfig {
    const { spaces, inference, chunkSteps, maxFrameBytes } = this.external;
    const base = { observationSpace: spaces.observation, actionSpace: spaces.action, inference, chunkSteps, maxFrameBytes };
    if (inference === "server") return base;
    const { modelConfig, policyKind, normalizeActions, clipActions } = this.spec.module;
    const parameters = Array.from(this.built.module.parameters.tensors, ([name, { shape }]) => ({ name, shape }));
    return {
      ...base,
      network: { modelConfig, normalizeActions, clipActions, parameters, ...(policyKind === undefined ? {} : { policyKind }) },
    };
  }

  /** Waits until the runner listens. @throws RLError where it cannot */
  async ready(): Promise<void> {
    await this.#listening;
  }

  abstract setWeights(weights: Weights): void;
  abstract sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample>;
  abstract answer(session: LinkSession, message: LinkMessage & { readonly type: Request }): Promise<Reply>;
  /** A client has left in the middle of an episode. */
  protected abstract left(seat: Seat, session: LinkSession): void;

  /** The seat of a client; its first request takes one. */
  protected seatOf(session: LinkSession): Seat {
    const known = this.#seats.get(session);
    if (known !== undefined) return known;
    const taken = new Set(Array.from(this.#seats.values(), ({ lane }) => lane));
    const lane = Array.from({ length: this.external.maxClients }, (_, place) => place).find((place) => !taken.has(place));
    if (lane === undefined) throw new Refusal("FULL", "all places are taken");
    const seat = { lane, isPlaying: false, return: 0, length: 0 };
    this.#seats.set(session, seat);
    return seat;
  }

  gone(session: LinkSession): void {
    const seat = this.#seats.get(session);
    this.#seats.delete(session);
    if (seat !== undefined) this.left(seat, session);
  }

  /** Begins an episode of a client. */
  protected begin(seat: Seat): void {
    seat.isPlaying = true;
    seat.return = 0;
    seat.length = 0;
    this.events.begin(seat.lane, undefined);
  }

  protected step(seat: Seat, reward: number): void {
    seat.return += reward;
    seat.length += 1;
    this.events.step(seat.lane, reward, undefined);
  }

  protected end(seat: Seat, isTerminated: boolean): void {
    seat.isPlaying = false;
    this.#over.push({ return: seat.return, length: seat.length });
    this.events.end(seat.lane, isTerminated, undefined);
  }

  /** Wakes `arrived`. */
  protected wake(): void {
    this.#arrival.resolve();
  }

  /** Waits for a request. */
  protected async arrived(signal: AbortSignal | undefined): Promise<void> {
    await cutOff(this.#arrival.promise, signal);
    this.#arrival = Promise.withResolvers<void>();
  }

  /** The sample of a fragment, with the episodes that have ended. */
  protected async sampleOf(share: ModuleSample, logged: readonly { readonly name: string; readonly sum: number }[] = []): Promise<Sample> {
    const episodes = this.#over;
    this.#over = [];
    const { rows } = share.fragment;
    const values = await this.events.sampled({ steps: rows, episodes: episodes.length });
    return {
      modules: { [DEFAULT_MODULE_ID]: share },
      steps: rows,
      returns: Float64Array.from(episodes, (episode) => episode.return),
      lengths: Int32Array.from(episodes, ({ length }) => length),
      logged: [...values, ...logged.map(({ name, sum }) => ({ name, options: { reduce: "sum" } as const, values: [sum] }))],
    };
  }

  /** Nothing: the episodes of clients go on by themselves. */
  getState(): object {
    return {};
  }

  setState(): void {}

  async close(): Promise<void> {
    await this.#listening.catch(() => {});
    await this.#server.close();
  }
}
