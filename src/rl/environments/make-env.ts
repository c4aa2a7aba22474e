/**
 * Makes environments: a single one, or several that are stepped together.
 *
 * A class is a vector environment where its instances have `numEnvs`; others are vectorized by a loop.
 * Members are checked at once, values in the first steps.
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import { EnvironmentError } from "../errors.ts";
import { AGENTS_MAX, ENVIRONMENTS_MAX } from "../limits.ts";
import { checkMembers, envThrew } from "./check-env.ts";
import { VectorChecks } from "./check-vector-env.ts";
import { AUTORESET_MODES, type AutoresetMode, type Env, type VectorContext, type VectorEnv } from "./env.ts";
import { LoopedEnv } from "./looped-env.ts";
import { AgentCopies } from "./multi-agent/agent-copies.ts";
import { checkMultiAgentMembers, Game } from "./multi-agent/game.ts";
import { isMultiAgent, type MultiAgentEnv } from "./multi-agent/multi-agent-env.ts";
import { PythonGame, PythonGames, withGameSpaces } from "./python/python-game.ts";
import { PythonVectorEnv, withSpaces } from "./python/python-vector-env.ts";
import { ExternalPlace } from "../external/external-place.ts";
import { classOf, type EnvSource, type EnvSpec, findEnv } from "./registry.ts";
import { SingleEnv, TimeLimit } from "./single-env.ts";

export interface VectorEnvOptions {
  /** Default: 1. */
  readonly numEnvs?: number | undefined;
  readonly envConfig?: object | undefined;
  /** Default: `"nextStep"`. */
  readonly autoresetMode?: AutoresetMode | undefined;
}

/**
 * Makes one environment, with its time limit.
 *
 * @param source - an id, a registered name, or a class
 * @param envConfig - the first argument of the class
 * @example
 * const env = await makeEnv("CartPole-v1");
 * const { observation } = await env.reset({ seed: 1 });
 */
export async function makeEnv(source: EnvSource, envConfig: object = {}): Promise<Env> {
  const spec = await prepared(findEnv(source), envConfig);
  const made = construct(spec, envConfig, { workerIndex: 0, vectorIndex: 0, numEnvs: 1, autoresetMode: "disabled" });
  if (isMultiAgent(made)) throw severalAgents(spec, "makeEnv");
  return isVector(made) ? new SingleEnv(made) : limited(made, spec);
}

/** Makes several environments that are stepped together. */
export async function makeVectorEnv(source: EnvSource, options: VectorEnvOptions = {}): Promise<VectorEnv> {
  const found = findEnv(source);
  const { numEnvs = found.python?.numEnvs ?? 1, envConfig = {}, autoresetMode = "nextStep" } = options;
  if (!Number.isSafeInteger(numEnvs) || numEnvs < 1 || numEnvs > ENVIRONMENTS_MAX)
    throw new RangeError(
      `Cannot make environments: numEnvs is a whole number from 1 to ${ENVIRONMENTS_MAX}: received ${describeValue(numEnvs)}`,
    );
  if (!AUTORESET_MODES.includes(autoresetMode))
    throw new RangeError(
      `Cannot make environments: autoresetMode is ${AUTORESET_MODES.join(", ")}: received ${describeValue(autoresetMode)}`,
    );
  return vectorEnvOf(await prepared(found, envConfig), { envConfig, numEnvs, autoresetMode, workerIndex: 0, isChecked: true });
}

/** A spec from which environments are made without waiting: that of an environment of Python has its spaces. @throws EnvironmentError where none can be made */
export async function prepared(spec: EnvSpec, envConfig: object): Promise<EnvSpec> {
  if (spec.copied !== undefined) {
    const { numAgents: _, ...ofCopies } = envConfig as { numAgents?: unknown };
    return { ...spec, copied: await prepared(spec.copied, ofCopies) };
  }
  if (spec.python === undefined) return spec;
  const place = { name: spec.name, envConfig: checkedConfig(spec, envConfig) };
  const isGame = spec.python.recipe.kind === "pettingZoo";
  return { ...spec, python: isGame ? await withGameSpaces(spec.python, place) : await withSpaces(spec.python, place) };
}

interface VectorRequest {
  readonly envConfig: object;
  readonly numEnvs: number;
  readonly autoresetMode: AutoresetMode;
  readonly workerIndex: number;
  readonly isChecked: boolean;
}

/**
 * Makes one environment with several agents.
 *
 * @param source - a class, or the id of a game
 * @example
 * const game = await makeMultiAgentEnv("TicTacToe");
 * const { observations } = await game.reset({ seed: 1 });
 */
export async function makeMultiAgentEnv(source: EnvSource, envConfig: object = {}): Promise<MultiAgentEnv> {
  const spec = await prepared(findEnv(source), envConfig);
  const made = construct(spec, envConfig, { workerIndex: 0, vectorIndex: 0, numEnvs: 1 });
  if (isMultiAgent(made)) return made;
  throw new EnvironmentError(`Cannot make ${spec.name}: it has one agent. Use makeEnv()`);
}

/** The games of a runner: environments with several agents. @throws EnvironmentError where the class cannot be made or lacks a member */
export function gamesOf(spec: EnvSpec, { envConfig, numEnvs, workerIndex, isChecked }: Omit<VectorRequest, "autoresetMode">): Game[] {
  const { python, name } = spec;
  const games = python?.games;
  const shared = games && new PythonGames(python, { name, envConfig: checkedConfig(spec, envConfig), count: numEnvs, isChecked });
  return Array.from({ length: numEnvs }, (_, vectorIndex) => {
    if (games !== undefined && shared !== undefined)
      return new Game(new PythonGame(shared, vectorIndex, games), { name, isChecked, maxEpisodeSteps: undefined });
    const made = construct(spec, envConfig, { workerIndex, vectorIndex, numEnvs });
    if (!isMultiAgent(made)) throw new EnvironmentError(`Cannot use ${spec.name} for several agents: it has no observationSpaces`);
    return new Game(made, { name: spec.name, isChecked, maxEpisodeSteps: spec.maxEpisodeSteps });
  });
}

/** An environment to look at, before any process starts: its spaces, and whether it has several agents. */
export function shownEnv(spec: EnvSpec, envConfig: object): Env | VectorEnv | MultiAgentEnv {
  return construct(spec, envConfig, { workerIndex: 0, vectorIndex: 0, numEnvs: 1, autoresetMode: "sameStep" });
}

function severalAgents({ name }: EnvSpec, call: string): EnvironmentError {
  return new EnvironmentError(`Cannot make ${name} with ${call}(): it has several agents. Use makeMultiAgentEnv()`);
}

/** The vector environment of a runner. @throws EnvironmentError where the class cannot be made or lacks a member */
export function vectorEnvOf(spec: EnvSpec, { envConfig, numEnvs, autoresetMode, workerIndex, isChecked }: VectorRequest): VectorEnv {
  const context = { workerIndex, vectorIndex: 0, numEnvs, autoresetMode, isChecked };
  const first = construct(spec, envConfig, context);
  if (isMultiAgent(first)) throw severalAgents(spec, "makeVectorEnv");
  if (isVector(first)) {
    if (first.numEnvs !== numEnvs)
      throw new EnvironmentError(
        `Cannot use ${spec.name}: ${numEnvs} environments are needed, as the second argument says: numEnvs is ${first.numEnvs}`,
      );
    return first;
  }
  const envs = [limited(first, spec)];
  for (let vectorIndex = 1; vectorIndex < numEnvs; vectorIndex += 1) {
    const next = construct(spec, envConfig, { ...context, vectorIndex }) as Env;
    envs.push(limited(next, spec));
  }
  return new LoopedEnv(envs, { autoresetMode, isChecked, name: spec.name });
}

/** The checks of a user's vector environment; `undefined` for other environments, which check themselves. */
export function vectorChecks(spec: EnvSpec, env: VectorEnv): VectorChecks | undefined {
  return spec.envClass !== undefined && env instanceof spec.envClass ? new VectorChecks(env, spec.name) : undefined;
}

function checkedConfig({ name }: EnvSpec, envConfig: object): object {
  if (isPlainObject(envConfig)) return envConfig;
  throw new TypeError(`Cannot make ${name}: envConfig is an object: received ${describeValue(envConfig)}`);
}

function construct(
  spec: EnvSpec,
  envConfig: object,
  context: VectorContext & { readonly isChecked?: boolean },
): Env | VectorEnv | MultiAgentEnv {
  checkedConfig(spec, envConfig);
  const { name, python } = spec;
  if (python?.games !== undefined) {
    const plan = { name, envConfig, count: 1, isChecked: context.isChecked ?? true };
    return new PythonGame(new PythonGames(python, plan), 0, python.games);
  }
  if (python !== undefined) return new PythonVectorEnv(python, { name, envConfig, context, isChecked: context.isChecked ?? true });
  if (spec.copied !== undefined) return copies(spec.copied, envConfig, { context, name: spec.name });
  if (spec.external !== undefined) return new ExternalPlace(spec.external);
  const envClass = classOf(spec) as unknown as new (envConfig: object, context: VectorContext) => Env | VectorEnv | MultiAgentEnv;
  let made: Env | VectorEnv | MultiAgentEnv;
  try {
    made = new envClass(envConfig, context);
  } catch (error) {
    throw envThrew(spec.name, "construct", error);
  }
  if (isMultiAgent(made)) checkMultiAgentMembers(made, spec.name);
  else checkMembers(made as Env, spec.name);
  return made;
}

function copies(
  copied: EnvSpec,
  { numAgents = 2, ...envConfig }: { readonly numAgents?: number },
  { context, name }: { context: VectorContext; name: string },
): AgentCopies {
  if (!Number.isSafeInteger(numAgents) || numAgents < 1 || numAgents > AGENTS_MAX)
    throw new RangeError(`Cannot make ${name}: numAgents is a whole number from 1 to ${AGENTS_MAX}: received ${describeValue(numAgents)}`);
  const envs = Array.from({ length: numAgents }, () => {
    const made = construct(copied, envConfig, { ...context, vectorIndex: 0, numEnvs: 1, autoresetMode: "disabled" });
    if (isMultiAgent(made)) throw new EnvironmentError(`Cannot make ${name}: ${copied.name} has several agents already`);
    return isVector(made) ? new SingleEnv(made) : limited(made, copied);
  });
  return new AgentCopies(envs, name);
}

function isVector(env: Env | VectorEnv): env is VectorEnv {
  return typeof (env as Partial<VectorEnv>).numEnvs === "number";
}

function limited(env: Env, { maxEpisodeSteps }: EnvSpec): Env {
  return maxEpisodeSteps === undefined ? env : new TimeLimit(env, maxEpisodeSteps);
}
