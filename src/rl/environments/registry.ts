/**
 * Finds environments by their ids: the built-in ones, and those that users register.
 *
 * An id is resolved once, in the process that builds the algorithm. Runners get the class, so that a registration need not be repeated there.
 * A built-in environment travels as its id.
 */
import { describeValue, isClass, nearNames } from "../../core/internal.ts";
import { Acrobot } from "./classic/acrobot.ts";
import { CartPole } from "./classic/cart-pole.ts";
import { MountainCarContinuous } from "./classic/mountain-car-continuous.ts";
import { MountainCar } from "./classic/mountain-car.ts";
import { Pendulum } from "./classic/pendulum.ts";
import type { ActorClass } from "../../core/index.ts";
import type { Env, EnvContext, VectorContext, VectorEnv } from "./env.ts";
import { RockPaperScissors } from "./games/rock-paper-scissors.ts";
import { StatelessCartPole } from "./games/stateless-cart-pole.ts";
import { TicTacToe } from "./games/tic-tac-toe.ts";
import { TwoStepGame } from "./games/two-step-game.ts";
import type { MultiAgentEnv } from "./multi-agent/multi-agent-env.ts";
import { type ExternalSpec, ExternalSource } from "../external/external-source.ts";
import { type GymnasiumSource, type PettingZooSource, pythonSourceOf, type PythonSpec } from "./python/python-source.ts";
import { CliffWalking, CliffWalkingSlippery } from "./toy-text/cliff-walking.ts";
import { FrozenLake, FrozenLake8x8 } from "./toy-text/frozen-lake.ts";
import { Taxi } from "./toy-text/taxi.ts";

/** A class of environments. `envConfig` of `.environment()` is its first argument. */
// oxlint-disable-next-line no-explicit-any -- the config is the class's own affair
export type EnvClass = new (envConfig: any, context: EnvContext) => Env<any, any> | VectorEnv | MultiAgentEnv;

/** A class of Python, named by `python.actor`. */
// oxlint-disable-next-line no-explicit-any -- nothing is known of its members here
export type PythonEnvClass = ActorClass<any>;

/** Several agents, each in a copy of one environment. */
export class MultiAgentSource {
  /** The environment that is copied. */
  readonly copied: EnvSpec;

  constructor(copied: EnvSpec) {
    this.copied = copied;
  }
}

/** Everything that names an environment: an id, a class, `makeMultiAgent(...)`, or an environment of Python. */
export type EnvSource = string | EnvClass | MultiAgentSource | GymnasiumSource | PettingZooSource | ExternalSource | PythonEnvClass;

/** An environment that was found, in the form that travels to runners. */
export interface EnvSpec {
  readonly name: string;
  /** `undefined` for a built-in environment. */
  readonly envClass: EnvClass | undefined;
  readonly maxEpisodeSteps: number | undefined;
  /** The environment that each agent has a copy of. */
  readonly copied?: EnvSpec | undefined;
  /** For an environment of Python. */
  readonly python?: PythonSpec | undefined;
  /** For an environment whose simulators connect from elsewhere. */
  readonly external?: ExternalSpec | undefined;
}

type BuiltIn = new (envConfig: never, context: VectorContext) => VectorEnv | Env | MultiAgentEnv;

const BUILT_IN: Readonly<Record<string, BuiltIn>> = {
  "CartPole-v1": CartPole,
  "MountainCar-v0": MountainCar,
  "MountainCarContinuous-v0": MountainCarContinuous,
  "Pendulum-v1": Pendulum,
  "Acrobot-v1": Acrobot,
  "FrozenLake-v1": FrozenLake,
  "FrozenLake8x8-v1": FrozenLake8x8,
  "CliffWalking-v1": CliffWalking,
  "CliffWalkingSlippery-v1": CliffWalkingSlippery,
  "Taxi-v4": Taxi,
  RockPaperScissors,
  StatelessCartPole,
  TicTacToe,
  TwoStepGame,
};

/** Time limits of built-in environments. Vector classes keep theirs themselves. */
const STEP_LIMITS: Readonly<Record<string, number>> = { "FrozenLake-v1": 100, "FrozenLake8x8-v1": 200, "Taxi-v4": 200 };

const registered = new Map<string, EnvSpec>();

/**
 * Gives a class of environments a name, which `.environment()` and `makeEnv` take in its place.
 *
 * @param options.maxEpisodeSteps - the steps after which an episode is truncated. Default: no limit
 */
export function registerEnv(name: string, envClass: EnvClass, options: { maxEpisodeSteps?: number | undefined } = {}): void {
  if (typeof name !== "string" || name === "")
    throw new TypeError(`Cannot register an environment: a name is needed: received ${describeValue(name)}`);
  if (!isClassValue(envClass)) throw new TypeError(`Cannot register ${name}: a class is needed: received ${describeValue(envClass)}`);
  const { maxEpisodeSteps } = options;
  if (maxEpisodeSteps !== undefined && !(Number.isSafeInteger(maxEpisodeSteps) && maxEpisodeSteps >= 1))
    throw new RangeError(`Cannot register ${name}: maxEpisodeSteps is a whole number from 1: received ${describeValue(maxEpisodeSteps)}`);
  registered.set(name, { name, envClass, maxEpisodeSteps });
}

/**
 * Puts several agents into copies of an environment with one agent, one each: `agent0`, `agent1` and so on.
 *
 * `envConfig` has `numAgents` (default: 2) beside the options of the copies. An agent leaves when its environment ends; the game is over when all have left.
 *
 * @example
 * const config = new PPOConfig().environment(makeMultiAgent("CartPole-v1"), { envConfig: { numAgents: 2 } });
 */
export function makeMultiAgent(source: string | EnvClass | GymnasiumSource | PythonEnvClass): MultiAgentSource {
  return new MultiAgentSource(findEnv(source));
}

/** The name of copies, which `findEnv` takes as well: checkpoints have it. */
const COPIES = /^MultiAgent\((.+)\)$/;

/** Finds what `.environment()` and `makeEnv` were given. @throws RangeError for an id that nobody registered, TypeError for other values */
export function findEnv(source: unknown): EnvSpec {
  if (source instanceof MultiAgentSource) return copiesOf(source.copied);
  if (source instanceof ExternalSource)
    return { name: source.name, envClass: undefined, maxEpisodeSteps: undefined, external: source.external };
  const ofPython = pythonSourceOf(source);
  if (ofPython !== undefined) return { ...ofPython, envClass: undefined, maxEpisodeSteps: undefined };
  if (isClassValue(source)) return { name: source.name || "an environment", envClass: source, maxEpisodeSteps: undefined };
  if (typeof source !== "string")
    throw new TypeError(
      `Cannot find an environment: an id such as "CartPole-v1", or a class, is needed: received ${describeValue(source)}`,
    );
  const [, copied] = COPIES.exec(source) ?? [];
  if (copied !== undefined) return copiesOf(findEnv(copied));
  const known = registered.get(source);
  if (known !== undefined) return known;
  if (Object.hasOwn(BUILT_IN, source)) return { name: source, envClass: undefined, maxEpisodeSteps: STEP_LIMITS[source] };
  throw new RangeError(`Cannot find an environment: there is no id ${JSON.stringify(source.slice(0, 100))}: ${insteadOf(source)}`);
}

function copiesOf(copied: EnvSpec): EnvSpec {
  return { name: `MultiAgent(${copied.name})`, envClass: copied.envClass, maxEpisodeSteps: undefined, copied };
}

function insteadOf(id: string): string {
  const ids = [...Object.keys(BUILT_IN), ...registered.keys()];
  const base = id.replace(/-v\d+$/, "");
  const newer = ids.filter((known) => known.replace(/-v\d+$/, "") === base);
  const near = newer.length > 0 ? newer : nearNames(id, ids);
  return near.length > 0 ? `did you mean ${near.join(" or ")}?` : `there are ${ids.join(", ")}. registerEnv(name, class) adds another`;
}

/** The class behind a spec. */
export function classOf({ name, envClass }: EnvSpec): EnvClass {
  return envClass ?? (BUILT_IN[name] as EnvClass);
}

function isClassValue(value: unknown): value is EnvClass {
  return typeof value === "function" && isClass(value as never);
}
