/**
 * Samples steps of environments with many agents: several worlds, the policies of their agents, and a fragment for each module.
 *
 * A round chooses the actions of all agents that act now, module by module, and steps every world once. A world whose game is over begins the next one at once. Each
 * agent of each world has its random stream, so the same steps are sampled in any process.
 */
import { isThenable } from "../../core/internal.ts";
import { Random, type RandomState } from "../../tensor/index.ts";
import { EpisodeEvents } from "../callbacks/episode-events.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import { gamesOf } from "../environments/make-env.ts";
import type { AgentShare, Game, GameState, GameStep } from "../environments/multi-agent/game.ts";
import type { MultiAgentEnv } from "../environments/multi-agent/multi-agent-env.ts";
import { EnvironmentError, RLError } from "../errors.ts";
import { BREATH_MS, IDLE_STEPS_MAX } from "../limits.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { moduleSeed, policyOf, type PolicyTable } from "../modules/policy-mapping.ts";
import type { AgentReturn, ModuleSample, Runner, RunnerPolicies, RunnerSpec, Sample, SampleRequest, Weights } from "./env-runner.ts";
import { type LanesState, ModuleLanes } from "./module-lanes.ts";

/** An agent in the episode of a world. */
interface Seat {
  moduleId: string | undefined;
  return: number;
}

interface MultiAgentRunnerState {
  /** `undefined` where environments have no `getState`. */
  readonly games: readonly GameState[] | undefined;
  readonly streams: readonly RandomState[];
  readonly mappingStreams: readonly RandomState[];
  readonly lanes: Readonly<Record<string, LanesState>>;
  readonly seats: readonly (readonly { readonly moduleId?: string | undefined; readonly return: number }[])[];
  readonly lengths: readonly number[];
  readonly episodes: readonly number[];
}

/** An episode that has ended. */
interface EpisodeRecord {
  readonly return: number;
  readonly length: number;
  readonly agents: readonly AgentReturn[];
}

type Episodes = Pick<Sample, "returns" | "lengths" | "agents">;

type AgentsSpec = RunnerSpec & { readonly policies: PolicyTable };

export class MultiAgentRunner implements Runner {
  readonly #spec: AgentsSpec;
  #policies: PolicyTable;
  readonly #training: boolean;
  readonly #games: readonly Game[];
  readonly #agents: readonly string[];
  readonly #modules = new Map<string, ModuleLanes>();
  /** By lane: environment after environment, the agents of each in the order of `possibleAgents`. */
  readonly #streams: readonly Random[];
  /** By environment. */
  readonly #mappingStreams: readonly Random[];
  readonly #seats: readonly Seat[][];
  readonly #lengths: Int32Array;
  readonly #episodes: Int32Array;
  readonly #events: EpisodeEvents;
  #isBegun = false;
  #idleSteps = 0;

  /** @param training - whether connectors learn from the steps */
  constructor(spec: AgentsSpec, training = true) {
    const { numEnvs, firstEnv, seed, workerIndex, isChecked, envConfig, policies } = spec;
    this.#spec = spec;
    this.#policies = policies;
    this.#training = training;
    this.#games = gamesOf(spec.env, { envConfig, numEnvs, workerIndex, isChecked });
    this.#agents = (this.#games[0] as Game).agents;
    const { length: agents } = this.#agents;
    for (const [index, { agents: others }] of this.#games.entries())
      if (others.join("\n") !== this.#agents.join("\n"))
        throw new EnvironmentError(
          `Cannot use ${spec.env.name}: possibleAgents differ between environments: those of ${index} are ${others.join(", ")}`,
        );
    this.#makeModules();
    const firstLane = firstEnv * agents;
    this.#streams = Array.from({ length: numEnvs * agents }, (_, index) => new Random(seed, "actions", firstLane + index));
    this.#mappingStreams = Array.from({ length: numEnvs }, (_, index) => new Random(seed, "policy mapping", firstEnv + index));
    this.#seats = Array.from({ length: numEnvs }, () => this.#agents.map(() => ({ moduleId: undefined, return: 0 })));
    this.#lengths = new Int32Array(numEnvs);
    this.#episodes = new Int32Array(numEnvs);
    this.#events = new EpisodeEvents({ ...spec, env: this.#games.map(({ env }) => env) });
  }

  /** Makes the modules of policies that have none. */
  #makeModules(): void {
    const { numEnvs, firstEnv, seed } = this.#spec;
    const { length: agents } = this.#agents;
    const range = { lanes: numEnvs * agents, firstLane: firstEnv * agents, training: this.#training };
    for (const [id, { spec: moduleSpec, ...spaces }] of Object.entries(this.#policies.recipes))
      if (!this.#modules.has(id)) this.#modules.set(id, new ModuleLanes(buildModule(moduleSpec, spaces, moduleSeed(seed, id)), range));
  }

  /** The environments, one a world. */
  get env(): readonly MultiAgentEnv[] {
    return this.#games.map(({ env }) => env);
  }

  /** Goes on with other policies. Agents keep theirs until the episode is over; an episode with a removed one is dropped, and its world begins another. */
  async setPolicies({ policies }: RunnerPolicies): Promise<void> {
    this.#policies = policies as PolicyTable;
    for (const id of this.#modules.keys()) if (!Object.hasOwn(this.#policies.recipes, id)) this.#modules.delete(id);
    this.#makeModules();
    const isLost = ({ moduleId }: Seat): boolean => moduleId !== undefined && !this.#modules.has(moduleId);
    for (const [env, seats] of this.#seats.entries()) {
      if (!seats.some(isLost)) continue;
      const lanes = seats.map((_, agent) => env * seats.length + agent);
      for (const each of this.#modules.values()) each.drop(lanes);
      this.#welcome(env, await (this.#games[env] as Game).reset({}));
    }
    this.#settle();
    await this.#events.settle();
  }

  get modules(): ReadonlyMap<string, BuiltModule> {
    return new Map(Array.from(this.#modules, ([id, { built }]) => [id, built]));
  }

  setWeights(weights: Weights): void {
    for (const [id, { built }] of this.#modules) built.module.parameters.data.set(weights[id] as Float32Array);
  }

  /** Takes the weights of modules, and the knowledge of their connectors. */
  copy(from: ReadonlyMap<string, BuiltModule>): void {
    for (const [id, lanes] of this.#modules) {
      const { module, encoder } = from.get(id) as BuiltModule;
      lanes.built.module.parameters.data.set(module.parameters.data);
      lanes.setStates(encoder.getStates());
    }
  }

  /** Samples at least so many steps, of environments or of agents. */
  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    const { steps, connectors, countsAgentSteps = false } = request;
    for (const [id, lanes] of this.#modules) {
      if (connectors !== undefined && Object.hasOwn(connectors, id)) lanes.setStates(connectors[id] as readonly unknown[]);
      lanes.open(steps);
    }
    await this.#begin();
    const over: EpisodeRecord[][] = this.#games.map(() => []);
    let [envSteps, counted, breathedAt] = [0, 0, performance.now()];
    while (counted < steps) {
      const acted = await this.#round(request, (env, episode) => over[env]?.push(episode));
      envSteps += this.#games.length;
      counted += countsAgentSteps ? acted : this.#games.length;
      if (performance.now() - breathedAt < BREATH_MS) continue;
      await new Promise((resolve) => void setImmediate(resolve));
      signal?.throwIfAborted();
      breathedAt = performance.now();
    }
    const modules: Record<string, ModuleSample> = {};
    for (const [id, lanes] of this.#modules) modules[id] = lanes.close();
    const episodes = over.flat();
    const logged = await this.#events.sampled({ steps: envSteps, episodes: episodes.length });
    return { modules, steps: envSteps, logged, ...columnsOf(episodes) };
  }

  /** Plays whole episodes, of which each environment plays its share. */
  async play(episodes: number, explore: boolean, signal?: AbortSignal): Promise<Episodes & Pick<Sample, "steps" | "logged">> {
    const { length: numEnvs } = this.#games;
    const shares = Array.from({ length: numEnvs }, (_, index) => Math.floor(episodes / numEnvs) + (index < episodes % numEnvs ? 1 : 0));
    const over: EpisodeRecord[][] = this.#games.map(() => []);
    let breathedAt = performance.now();
    await this.#begin();
    while (over.some((own, env) => own.length < (shares[env] as number))) {
      await this.#round({ explore }, (env, episode) => {
        if ((over[env] as EpisodeRecord[]).length < (shares[env] as number)) over[env]?.push(episode);
      });
      if (performance.now() - breathedAt < BREATH_MS) continue;
      await new Promise((resolve) => void setImmediate(resolve));
      signal?.throwIfAborted();
      breathedAt = performance.now();
    }
    const played = over.flat();
    const steps = played.reduce((sum, { length }) => sum + length, 0);
    const logged = await this.#events.sampled({ steps, episodes: played.length });
    return { ...columnsOf(played), steps, logged };
  }

  /** Resets all environments, once. */
  async #begin(): Promise<void> {
    await this.#events.created();
    if (this.#isBegun) return;
    const { seed, firstEnv } = this.#spec;
    const base = new Random(seed, "environments").integer(2 ** 31);
    for (const [env, game] of this.#games.entries()) this.#welcome(env, await game.reset({ seed: base + firstEnv + env }));
    this.#settle();
    this.#isBegun = true;
  }

  /** Steps every world once. @returns the number of agents that acted */
  async #round(
    { explore, exploration }: { explore: boolean; exploration?: Exploration | undefined },
    onEpisode: (env: number, episode: EpisodeRecord) => void,
  ): Promise<number> {
    const { length: agents } = this.#agents;
    const actions: Record<string, unknown>[] = this.#games.map(() => ({}));
    let acted = 0;
    for (const lanes of this.#modules.values())
      for (const [lane, action] of lanes.act(explore, { exploration, streams: this.#streams })) {
        (actions[Math.floor(lane / agents)] as Record<string, unknown>)[this.#agents[lane % agents] as string] = action;
        acted += 1;
      }
    this.#idleSteps = acted === 0 ? this.#idleSteps + 1 : 0;
    if (this.#idleSteps > IDLE_STEPS_MAX)
      throw new EnvironmentError(
        `Cannot use ${this.#spec.env.name}: no agent had an observation in ${IDLE_STEPS_MAX} steps in a row, and no game ended. Return one, or set terminateds.__all__`,
      );
    const steps = this.#games.map((game, env) => game.step(actions[env] as Record<string, unknown>));
    const settled = steps.some(isThenable) ? await Promise.all(steps.map(async (step) => await step)) : (steps as GameStep[]);
    const ended: number[] = [];
    for (const [env, { shares, isOver }] of settled.entries()) {
      this.#take(env, shares);
      const rewards = shares.map(({ agent, reward }) => [this.#agents[agent] as string, reward] as const);
      this.#events.step(env, rewards, undefined);
      this.#lengths[env] = (this.#lengths[env] as number) + 1;
      if (isOver) ended.push(env);
    }
    this.#settle();
    for (const env of ended) {
      onEpisode(env, this.#recordOf(env));
      this.#events.end(env, true, undefined);
      this.#welcome(env, await (this.#games[env] as Game).reset({}));
    }
    if (ended.length > 0) this.#settle();
    if (this.#events.isWaiting) await this.#events.settle();
    return acted;
  }

  #settle(): void {
    for (const lanes of this.#modules.values()) lanes.settle();
  }

  /** Seats the agents of a new episode. */
  #welcome(env: number, shares: readonly AgentShare[]): void {
    for (const seat of this.#seats[env] as Seat[]) [seat.moduleId, seat.return] = [undefined, 0];
    this.#lengths[env] = 0;
    this.#episodes[env] = (this.#episodes[env] as number) + 1;
    this.#take(env, shares);
    this.#events.begin(env, undefined);
  }

  #take(env: number, shares: readonly AgentShare[]): void {
    const seats = this.#seats[env] as Seat[];
    for (const { agent, observation, reward, isFirst, end } of shares) {
      const seat = seats[agent] as Seat;
      seat.return += reward;
      if (isFirst) seat.moduleId = this.#map(env, agent);
      // An agent that has never had an observation has no policy yet.
      const lanes = this.#modules.get(seat.moduleId ?? "");
      if (lanes === undefined) continue;
      const lane = env * this.#agents.length + agent;
      lanes.reward(lane, reward);
      if (observation !== undefined || end !== undefined) lanes.arrive({ lane, observation, isFirst, end });
    }
  }

  /** Chooses the policy of an agent for an episode. */
  #map(env: number, agent: number): string {
    const { firstEnv, env: spec } = this.#spec;
    const { recipes, mappingFn } = this.#policies;
    const random = this.#mappingStreams[env] as Random;
    const name = this.#agents[agent] as string;
    const episode = { id: `${firstEnv + env}-${(this.#episodes[env] as number) - 1}`, random: () => random.uniform() };
    const id = policyOf(name, episode, { known: Object.keys(recipes), mappingFn });
    const { observationSpaces, actionSpaces } = (this.#games[env] as Game).env;
    const recipe = recipes[id];
    for (const [wanted, own] of [
      [recipe?.observationSpace, observationSpaces[name]],
      [recipe?.actionSpace, actionSpaces[name]],
    ])
      if (wanted !== own && JSON.stringify(wanted) !== JSON.stringify(own))
        throw new RLError(
          `Cannot map agent ${name} of ${spec.name} to policy ${id}: the policy has the space ${JSON.stringify(wanted)}, and the agent ${JSON.stringify(own)}. Map agents of different spaces to different policies`,
        );
    return id;
  }

  #recordOf(env: number): EpisodeRecord {
    const agents = (this.#seats[env] as Seat[]).flatMap(({ moduleId, return: earned }, agent) =>
      moduleId === undefined ? [] : [[this.#agents[agent] as string, moduleId, earned] as const],
    );
    const total = (this.#seats[env] as Seat[]).reduce((sum, seat) => sum + seat.return, 0);
    return { return: total, length: this.#lengths[env] as number, agents };
  }

  getState(): MultiAgentRunnerState {
    const isSaved = this.#isBegun && this.#games.every((game) => game.getState !== undefined);
    return {
      games: isSaved ? this.#games.map((game) => game.getState?.() as GameState) : undefined,
      streams: this.#streams.map((stream) => stream.getState()),
      mappingStreams: this.#mappingStreams.map((stream) => stream.getState()),
      lanes: Object.fromEntries(Array.from(this.#modules, ([id, lanes]) => [id, lanes.getState()])),
      seats: this.#seats.map((own) => own.map((seat) => ({ ...seat }))),
      lengths: Array.from(this.#lengths),
      episodes: Array.from(this.#episodes),
    };
  }

  /** Goes on from a state. Environments without a state begin new episodes. */
  setState({ games, streams, mappingStreams, lanes, seats, lengths, episodes }: MultiAgentRunnerState): void {
    for (const [index, state] of streams.entries()) this.#streams[index]?.setState(state);
    for (const [index, state] of mappingStreams.entries()) this.#mappingStreams[index]?.setState(state);
    const isInside = games !== undefined && games.length === this.#games.length;
    for (const [id, state] of Object.entries(lanes)) this.#modules.get(id)?.setState(state, isInside);
    if (!isInside) return;
    for (const [env, game] of this.#games.entries()) game.setState(games[env] as GameState);
    for (const [env, own] of seats.entries())
      for (const [agent, { moduleId, return: earned }] of own.entries()) {
        const seat = this.#seats[env]?.[agent];
        if (seat !== undefined) [seat.moduleId, seat.return] = [moduleId, earned];
      }
    this.#lengths.set(lengths);
    this.#episodes.set(episodes);
    this.#isBegun = true;
  }

  async close(): Promise<void> {
    for (const game of this.#games) await game.close();
  }
}

function columnsOf(episodes: readonly EpisodeRecord[]): Episodes {
  return {
    returns: Float64Array.from(episodes, (episode) => episode.return),
    lengths: Int32Array.from(episodes, ({ length }) => length),
    agents: episodes.map(({ agents }) => agents),
  };
}
