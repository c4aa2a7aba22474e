/**
 * A client of an algorithm: the side of games, robots and simulators that `externalEnv` has on the other end.
 *
 * Reports observations and rewards, and gives actions: from a copy of the network, or from the server, as the algorithm's `inference` says. One client plays one episode at a time.
 * A lost connection ends the episode under way; the next one connects again.
 */
import type { Env } from "../environments/env.ts";
import { BREATH_MS } from "../limits.ts";
import { ANSWER_WITHIN_MS, RECONNECT_EVERY_MS, RECONNECT_WITHIN_MS } from "../link/limits.ts";
import type { LinkMessage, WireArray } from "../link/frames.ts";
import type { Inference, LinkConfig, StateFields } from "../link/messages.ts";
import { SpaceArrays } from "../link/space-arrays.ts";
import type { Space } from "../spaces/space.ts";
import { spaceFromJson } from "../spaces/space-json.ts";
import { LinkClosedError, LinkRefusedError } from "./client-errors.ts";
import { LinkConnection } from "./link-connection.ts";
import { checkFits, type Chosen, LocalPolicy, PlayedColumns } from "./local-policy.ts";

export interface ClientOptions {
  /** The token of `externalEnv`. */
  readonly token?: string | undefined;
  /** For an answer, which may wait for the learner. Default: 600,000. */
  readonly timeoutMs?: number | undefined;
  /** For connecting again after a lost connection. 0: never. Default: 60,000. */
  readonly reconnectWithinMs?: number | undefined;
  /** Makes the draws of actions repeatable, where this client chooses them. */
  readonly seed?: number | undefined;
}

export interface PlayOptions {
  /** Episodes to play. Default: without end. */
  readonly episodes?: number | undefined;
  /** The seed of the first reset. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after each step: for drawing. A promise holds the game up. */
  readonly onStep?: ((step: PlayedStep) => void | Promise<void>) | undefined;
  readonly onEpisode?: ((episode: PlayedEpisode) => void) | undefined;
}

export interface PlayedStep {
  readonly observation: unknown;
  readonly action: unknown;
  readonly reward: number;
  readonly isOver: boolean;
}

export interface PlayedEpisode {
  readonly return: number;
  readonly length: number;
}

/** The state of an episode under way. */
interface Playing {
  observation: unknown;
  chosen: Chosen | undefined;
}

/** Refusals that a later attempt may not meet. */
const PASSING: readonly string[] = ["FULL", "IDLE", "CLOSING"];

export class ExternalClient {
  readonly url: string;
  readonly #options: ClientOptions;
  #connection: LinkConnection | undefined;
  #config: LinkConfig;
  #observations: SpaceArrays;
  #actions: SpaceArrays;
  #policy: LocalPolicy | undefined;
  #columns: PlayedColumns | undefined;
  #playing: Playing | undefined;
  /** The message with steps that is under way. */
  #sending: Promise<void> | undefined;
  #isClosed = false;
  readonly observationSpace: Space;
  readonly actionSpace: Space;

  private constructor(url: string, options: ClientOptions, { connection, config }: { connection: LinkConnection; config: LinkConfig }) {
    this.url = url;
    this.#options = options;
    this.#connection = connection;
    this.#config = config;
    this.observationSpace = spaceFromJson(config.observationSpace);
    this.actionSpace = spaceFromJson(config.actionSpace);
    this.#observations = new SpaceArrays(this.observationSpace, "obs");
    this.#actions = new SpaceArrays(this.actionSpace, "action");
    this.#makePolicy();
  }

  /**
   * Connects to an algorithm.
   *
   * @param url - `ws://host:port`, `wss://…`, or in Node `tcp://host:port`
   * @throws LinkClosedError where nobody answers, LinkRefusedError with the algorithm's reason
   * @example
   * const client = await ExternalClient.connect("ws://127.0.0.1:7000");
   * let action = await client.startEpisode(observation);
   */
  static async connect(url: string, options: ClientOptions = {}): Promise<ExternalClient> {
    return new ExternalClient(url, options, await opened(url, options));
  }

  /** The side that chooses actions: this client, or the server. */
  get inference(): Inference {
    return this.#config.inference;
  }

  /** The version of the weights that choose actions here; 0 before the first, and where the server chooses. */
  get weightsVersion(): number {
    return this.#policy?.version ?? 0;
  }

  #makePolicy(): void {
    const { network } = this.#config;
    this.#policy = undefined;
    this.#columns = undefined;
    this.#sending = undefined;
    if (network === undefined) return;
    const { observationSpace, actionSpace } = this;
    this.#policy = new LocalPolicy({ network }, { observationSpace, actionSpace, seed: this.#options.seed });
    this.#columns = new PlayedColumns(this.#policy.built);
  }

  /** Begins an episode with its first observation. @returns the first action */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the environment's actions, which the caller knows
  async startEpisode<Action = unknown>(observation: unknown): Promise<Action> {
    if (this.#isClosed) throw new LinkClosedError("Cannot start an episode: this client was closed. Connect another one");
    if (this.#playing !== undefined) throw new RangeError("Cannot start an episode: one is under way. End it with endEpisode()");
    checkFits(this.observationSpace, observation);
    const connection = await this.#connected();
    if (this.#policy === undefined) {
      const action = this.#read(await connection.ask("GET_ACTION", { fields: { begins: true }, arrays: this.#written(observation) }));
      this.#playing = { observation, chosen: undefined };
      return action as Action;
    }
    if (this.#policy.version === 0) this.#takeState(await connection.ask("GET_STATE"));
    this.#policy.begin();
    const chosen = this.#policy.choose(observation);
    this.#playing = { observation, chosen };
    return chosen.action as Action;
  }

  /** Reports the outcome of the last action. @returns the next action */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the environment's actions, which the caller knows
  async step<Action = unknown>(observation: unknown, reward: number): Promise<Action> {
    const playing = this.#underWay("step");
    checkOutcome(this.observationSpace, observation, reward);
    const connection = this.#open();
    if (this.#policy === undefined)
      return this.#read(
        await this.#asking(connection.ask("GET_ACTION", { fields: { reward }, arrays: this.#written(observation) })),
      ) as Action;
    this.#columns?.add(playing.observation, playing.chosen as Chosen, reward);
    if ((this.#columns?.rows ?? 0) >= this.#config.chunkSteps) {
      this.#columns?.close(observation, 0);
      await this.#asking(this.#send(connection));
    }
    const chosen = this.#policy.choose(observation);
    this.#playing = { observation, chosen };
    return chosen.action as Action;
  }

  /** Reports the outcome of the last action, which was the last one of the episode. `truncated`: the episode was cut, for example by a time limit. */
  async endEpisode(observation: unknown, reward: number, { truncated = false }: { readonly truncated?: boolean } = {}): Promise<void> {
    const playing = this.#underWay("endEpisode");
    checkOutcome(this.observationSpace, observation, reward);
    const connection = this.#open();
    this.#playing = undefined;
    if (this.#policy === undefined) {
      const fields = { reward, end: truncated ? "truncated" : "terminated" };
      await connection.ask("END_EPISODE", { fields, arrays: this.#written(observation) });
      return;
    }
    this.#columns?.add(playing.observation, playing.chosen as Chosen, reward);
    this.#columns?.close(observation, truncated ? 2 : 1);
    if ((this.#columns?.rows ?? 0) >= this.#config.chunkSteps) await this.#send(connection);
  }

  /** Sends the steps that wait for more, and waits until the algorithm has taken them. Only between episodes. */
  async flush(): Promise<void> {
    if (this.#playing !== undefined) throw new RangeError("Cannot flush: an episode is under way. End it with endEpisode()");
    if ((this.#columns?.rows ?? 0) > 0) await this.#send(this.#open());
    await this.#sending;
  }

  /**
   * Plays an environment of this process: resets it, steps it, and reports.
   *
   * A lost connection ends an episode early, and the next one begins when the algorithm is back.
   * @throws LinkClosedError where it does not come back in time, LinkRefusedError, the signal's reason, errors of the environment
   */
  async play(
    env: Env<any, any>,
    { episodes = Number.POSITIVE_INFINITY, seed, signal, onStep, onEpisode }: PlayOptions = {},
  ): Promise<void> {
    let breathedAt = performance.now();
    const breathe = async (): Promise<void> => {
      signal?.throwIfAborted();
      if (performance.now() - breathedAt < BREATH_MS) return;
      await new Promise((resolve) => void setTimeout(resolve));
      breathedAt = performance.now();
    };
    for (let played = 0; played < episodes; ) {
      const { observation } = await env.reset(played === 0 && seed !== undefined ? { seed } : {});
      try {
        const episode = await this.#playEpisode(env, observation, { breathe, onStep });
        played += 1;
        onEpisode?.(episode);
      } catch (error) {
        this.#playing = undefined;
        // The next episode connects again, or says why it cannot.
        if (!isPassing(error) || this.#isClosed || (this.#options.reconnectWithinMs ?? RECONNECT_WITHIN_MS) === 0) throw error;
        await this.#connected(signal);
      }
      await breathe();
    }
    await this.flush();
  }

  async #playEpisode(
    env: Env<any, any>,
    first: unknown,
    { breathe, onStep }: { breathe: () => Promise<void>; onStep: PlayOptions["onStep"] },
  ): Promise<PlayedEpisode> {
    let action = await this.startEpisode(first);
    const episode = { return: 0, length: 0 };
    for (;;) {
      const { observation, reward, terminated, truncated } = await env.step(action);
      episode.return += reward;
      episode.length += 1;
      const isOver = terminated || truncated;
      await onStep?.({ observation, action, reward, isOver });
      await breathe();
      if (isOver) {
        // Where both are set, the world has ended: nothing is left to estimate.
        await this.endEpisode(observation, reward, { truncated: !terminated });
        return episode;
      }
      action = await this.step(observation, reward);
    }
  }

  #underWay(call: string): Playing {
    if (this.#playing === undefined) throw new RangeError(`Cannot call ${call}(): no episode is under way. Begin one with startEpisode()`);
    return this.#playing;
  }

  /** The connection of an episode under way. @throws the error by which it was lost */
  #open(): LinkConnection {
    const error = this.#connection?.error ?? (this.#isClosed ? new LinkClosedError("This client was closed") : undefined);
    if (error === undefined && this.#connection !== undefined) return this.#connection;
    this.#playing = undefined;
    throw error as Error;
  }

  /** Forgets the episode under way where a request fails. */
  async #asking<R>(request: Promise<R>): Promise<R> {
    try {
      return await request;
    } catch (error) {
      this.#playing = undefined;
      throw error;
    }
  }

  /** The connection of a new episode. A lost one is made again. */
  async #connected(signal?: AbortSignal): Promise<LinkConnection> {
    const { reconnectWithinMs = RECONNECT_WITHIN_MS } = this.#options;
    const deadline = performance.now() + reconnectWithinMs;
    for (;;) {
      signal?.throwIfAborted();
      const error = this.#connection?.error;
      if (this.#connection !== undefined && error === undefined) return this.#connection;
      if (this.#isClosed || (error !== undefined && !isPassing(error)) || performance.now() >= deadline)
        throw error ?? new LinkClosedError("This client was closed");
      try {
        const { connection, config } = await opened(this.url, this.#options);
        this.#connection = connection;
        this.#takeConfig(config);
      } catch (failed) {
        if (!isPassing(failed) || performance.now() >= deadline) throw failed;
        await new Promise((resolve) => void setTimeout(resolve, RECONNECT_EVERY_MS));
      }
    }
  }

  #takeConfig(config: LinkConfig): void {
    const spaces = ({ observationSpace, actionSpace }: LinkConfig): string => JSON.stringify([observationSpace, actionSpace]);
    if (spaces(config) !== spaces(this.#config)) {
      this.#connection?.close();
      throw new RangeError(`Cannot go on: the algorithm at ${this.url} has other spaces than before. Connect a new client`);
    }
    this.#config = config;
    this.#makePolicy();
  }

  /** Sends the steps, after the message before has been answered. Goes on without waiting for the answer. */
  async #send(connection: LinkConnection): Promise<void> {
    await this.#sending;
    const [columns, policy] = [this.#columns as PlayedColumns, this.#policy as LocalPolicy];
    const answer = connection.ask("EPISODES_AND_GET_STATE", { fields: { version: policy.version }, arrays: columns.take() });
    this.#sending = answer.then((state) => this.#takeState(state));
    // Looked at by the next call.
    this.#sending.catch(() => {});
  }

  #takeState({ fields, arrays }: LinkMessage): void {
    this.#policy?.take(fields as unknown as StateFields, arrays.get("weights"));
  }

  #written(observation: unknown): Map<string, WireArray> {
    const arrays = new Map<string, WireArray>();
    this.#observations.write([observation], arrays);
    return arrays;
  }

  #read({ arrays }: LinkMessage): unknown {
    return this.#actions.read(arrays, 1)[0];
  }

  /** Ends the connection. An episode under way is lost. */
  close(): void {
    this.#isClosed = true;
    this.#playing = undefined;
    this.#connection?.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

async function opened(
  url: string,
  { token, timeoutMs = ANSWER_WITHIN_MS }: ClientOptions,
): Promise<{ connection: LinkConnection; config: LinkConfig }> {
  const connection = await LinkConnection.open(url, { token, timeoutMs });
  try {
    return { connection, config: await connection.config() };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof LinkClosedError || (error instanceof LinkRefusedError && PASSING.includes(error.code));
}

function checkOutcome(space: Space, observation: unknown, reward: number): void {
  checkFits(space, observation);
  if (typeof reward !== "number" || !Number.isFinite(reward))
    throw new RangeError(`Cannot report a step: the reward is a finite number: received ${reward}`);
}
