/**
 * Environments of Python, as configurations name them: `gymnasium(id)`, or a class by `python.actor(file, class)`.
 *
 * A source is data: an id or a place, with options, which are checked here.
 * The spaces are asked for once, before an algorithm is built; from then on a spec has them, so that runners make their environments without waiting.
 */
import { count, custom, describeValue, isPlainObject, plainObject, pythonCodeOf, readOptions } from "../../../core/internal.ts";
import type { ActorOptions } from "../../../core/index.ts";
import { ENVIRONMENTS_MAX } from "../../limits.ts";
import type { SpaceJson } from "../../spaces/space.ts";

type RuntimeEnv = NonNullable<ActorOptions["runtimeEnv"]>;

/** The agents of a game, and of each the spaces of observations and actions. */
export interface GameSpaces {
  readonly agents: readonly string[];
  readonly spaces: readonly (readonly [observation: SpaceJson, action: SpaceJson])[];
}

/** How an actor of Python makes an environment. */
type PythonRecipe =
  | { readonly kind: "gymnasium"; readonly id: string; readonly kwargs: object; readonly wrappers: "atari" | null }
  | { readonly kind: "pettingZoo"; readonly id: string; readonly kwargs: object }
  | { readonly kind: "class"; readonly place: string; readonly name: string };

export interface PythonSpec {
  readonly recipe: PythonRecipe;
  readonly runtimeEnv: RuntimeEnv | undefined;
  /** The default of `numEnvsPerEnvRunner`. */
  readonly numEnvs: number | undefined;
  /** Known once an environment has been made. */
  readonly spaces?: { readonly observation: SpaceJson; readonly action: SpaceJson } | undefined;
  /** The same of a game of PettingZoo. */
  readonly games?: GameSpaces | undefined;
}

export interface GymnasiumOptions {
  /** Arguments of `gymnasium.make`. `envConfig` adds to them. */
  readonly kwargs?: Readonly<Record<string, unknown>> | undefined;
  /** `"atari"`: four frames a step, 84 x 84 grey, four steps side by side, signs of rewards, a life is an episode. Default: none. */
  readonly wrappers?: "atari" | undefined;
  /** The default of `numEnvsPerEnvRunner`. */
  readonly numEnvs?: number | undefined;
  /** The Python that has Gymnasium: `{ python: "venv" }` or `{ pip: ["gymnasium"] }`. Default: `python3` of the workers. */
  readonly runtimeEnv?: RuntimeEnv | undefined;
}

const OPTIONS = {
  of: "gymnasium()",
  options: {
    kwargs: plainObject<Readonly<Record<string, unknown>>>("an object such as { renderMode: null } is needed"),
    wrappers: custom<"atari" | undefined>('"atari" is needed', undefined, (value) =>
      typeof value !== "string" ? "wrong type" : value === "atari" ? "ok" : "out of range",
    ),
    numEnvs: count<number | undefined>({ min: 1, max: ENVIRONMENTS_MAX }, undefined),
    runtimeEnv: custom<RuntimeEnv | undefined>('an object such as { python: "venv" } is needed', undefined, (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
  },
};

/** An environment of Gymnasium. Made by `gymnasium`. */
export class GymnasiumSource {
  readonly name: string;
  readonly python: PythonSpec;

  constructor(name: string, python: PythonSpec) {
    this.name = name;
    this.python = python;
  }
}

/**
 * An environment of Python's Gymnasium, for `.environment()`, `makeEnv` and `makeVectorEnv`.
 *
 * @param id - as `gymnasium.make` takes it; `module:id` imports a module first
 * @example
 * new PPOConfig().environment(gymnasium("LunarLander-v3", { kwargs: { gravity: -8 } }));
 */
export function gymnasium(id: string, options: GymnasiumOptions = {}): GymnasiumSource {
  if (typeof id !== "string" || id === "")
    throw new TypeError(`Cannot name an environment of Gymnasium: an id such as "CartPole-v1" is needed: received ${describeValue(id)}`);
  const { kwargs = {}, wrappers = null, numEnvs, runtimeEnv } = readOptions(options, OPTIONS);
  return new GymnasiumSource(id, { recipe: { kind: "gymnasium", id, kwargs, wrappers }, runtimeEnv, numEnvs });
}

export type PettingZooOptions = Omit<GymnasiumOptions, "wrappers">;

const { wrappers: _, ...withoutWrappers } = OPTIONS.options;
const GAME_OPTIONS = { of: "pettingZoo()", options: withoutWrappers };

/** A game of PettingZoo. Made by `pettingZoo`. */
export class PettingZooSource {
  readonly name: string;
  readonly python: PythonSpec;

  constructor(name: string, python: PythonSpec) {
    this.name = name;
    this.python = python;
  }
}

/**
 * A game of Python's PettingZoo, for `.environment()` and `makeMultiAgentEnv`. Agents move at once where the module has `parallel_env()`, else one by one.
 *
 * @param id - `family/name`, or the name of a module with `parallel_env()` or `env()`
 * @example
 * new PPOConfig().environment(pettingZoo("classic/tictactoe_v3"));
 */
export function pettingZoo(id: string, options: PettingZooOptions = {}): PettingZooSource {
  if (typeof id !== "string" || !/^\w+(\/\w+|(\.\w+)*)$/.test(id))
    throw new TypeError(
      `Cannot name a game of PettingZoo: an id such as "classic/tictactoe_v3", or a module, is needed: received ${describeValue(id)}`,
    );
  const { kwargs = {}, numEnvs, runtimeEnv } = readOptions(options, GAME_OPTIONS);
  return new PettingZooSource(id, { recipe: { kind: "pettingZoo", id, kwargs }, runtimeEnv, numEnvs });
}

/** The environment of Python behind a source; `undefined` for other sources. @throws TypeError for a function of Python */
export function pythonSourceOf(source: unknown): { readonly name: string; readonly python: PythonSpec } | undefined {
  if (source instanceof GymnasiumSource || source instanceof PettingZooSource) return source;
  const code = pythonCodeOf(source);
  if (code === undefined) return undefined;
  const { kind, place, name, options } = code;
  if (kind === "function")
    throw new TypeError(
      `Cannot use ${name} of ${place} as an environment: a class is needed. Name it by python.actor(${JSON.stringify(place)}, ...)`,
    );
  return { name, python: { recipe: { kind: "class", place, name }, runtimeEnv: (options as ActorOptions).runtimeEnv, numEnvs: undefined } };
}
