/**
 * Searchers that are Python libraries: one actor with the library's own object suggests points and learns losses.
 *
 * The actor (`python/shoal/_searchers.py`) starts with the first question and holds no CPU. This side keeps a log of all asks and tells: the state of the search is
 * that log, and a search that goes on repeats it in a new actor. So the state is JSON, and nothing is unpickled. A package that its Python lacks
 * is named with the command that installs it.
 */
import { type ActorHandle, kill } from "../../../core/index.ts";
import { plainObject } from "../../../core/internal.ts";
import { python } from "../../../python/python.ts";
import { definitionOf } from "../../spaces/definition.ts";
import { Random } from "../../spaces/random.ts";
import type { Searcher, Suggestion } from "../../searcher.ts";
import { configOf, readPoint, type SearchSpace, toAllowed } from "../../spaces/space.ts";
import type { Config, Definition, JsonValue, Mode, TrialResult } from "../../trials/trial.ts";
import { type Axis, axesOf } from "../numbers/axes.ts";
import { lossesOf, readObjectives, type Objectives } from "../numbers/losses.ts";
import { modelSearchOptions, type ModelSearchOptions } from "../../options/shared-options.ts";
import { type SpaceFunction, Suggestions } from "../space-function.ts";

/** Options of all searchers of Python libraries. */
export interface PythonSearchOptions extends ModelSearchOptions {
  /** The environment of the library: `{ python: "venv" }`, `{ python: ["optuna"] }`. Default: the session's. */
  runtimeEnv?: Readonly<Record<string, unknown>> | undefined;
}

export const pythonSearchOptions = {
  ...modelSearchOptions,
  runtimeEnv: plainObject<Readonly<Record<string, unknown>>>("a runtime environment is needed"),
};

type PlainPoint = Readonly<Record<string, number>>;
/** A call to the library, as the log keeps it for `replay`. With a space function each trial has separate axes. */
type Call =
  | readonly ["ask" | "give", trialId: string, point: PlainPoint]
  | readonly ["ask" | "give", trialId: string, point: PlainPoint, axes: readonly JsonValue[]]
  | readonly ["tell", trialId: string, losses: readonly number[] | null]
  | readonly ["observe", trialId: "", value: { readonly point: PlainPoint; readonly losses: readonly number[] }];

/** The classes of `python/shoal/_searchers.py`. */
interface PythonSearcher {
  ask(trialId: string): PlainPoint;
  /** The value of one more axis of a requested trial. */
  suggest(trialId: string, axis: JsonValue): number;
  give(trialId: string, point: PlainPoint, axes?: readonly JsonValue[]): void;
  tell(trialId: string, losses: readonly number[] | null): void;
  observe(point: PlainPoint, losses: readonly number[]): void;
  replay(log: readonly Call[]): void;
  mark(trialId: string): void;
}

/** A Python library, and its options. */
interface PythonLibrary {
  readonly name: string;
  readonly type: string;
  /** A class of `python/shoal/_searchers.py`. */
  readonly className: string;
  readonly options: Readonly<Record<string, JsonValue>>;
  /** How many metrics it takes. */
  readonly objectivesMax: number;
  /** Metrics that the library also gets, unchanged, after the losses. */
  readonly outcomes?: readonly string[];
  /** Whether trials are kept in a storage of the library's, where they are found by their ids. */
  readonly isStored?: boolean;
  /** The user's function that asks for one value after another, in place of a space. */
  readonly define?: SpaceFunction | undefined;
}

/** The library's process, and a promise that resolves when it knows the whole log. */
interface StartedLibrary {
  readonly handle: ActorHandle<PythonSearcher>;
  readonly replayed: PromiseLike<unknown>;
}

export abstract class PythonSearch implements Searcher {
  readonly definition: Definition | undefined;
  readonly #library: PythonLibrary;
  readonly #options: PythonSearchOptions;
  #seed: number;
  #space: SearchSpace = {};
  #axes: readonly Axis[] = [];
  #objectives: Objectives = { metrics: [], signs: [] };
  #log: Call[] = [];
  #given = 0;
  #running = new Set<string>();
  #actor: StartedLibrary | undefined;

  constructor(library: PythonLibrary, options: PythonSearchOptions) {
    this.#library = library;
    this.#options = options;
    this.definition = definitionOf(library.type, options);
    // The library needs a seed even if the user gives none: the log is repeated with it.
    this.#seed = options.seed ?? new Random().integer(2 ** 31 - 1);
  }

  /** @throws RangeError for a space or metrics that the library has no form for */
  setSearchProperties(metric: string | readonly string[], mode: Mode | readonly Mode[], space: SearchSpace): void {
    const { name, objectivesMax, define } = this.#library;
    this.#objectives = readObjectives({
      searcher: name,
      objectivesMax,
      metric: this.#options.metric ?? metric,
      mode: this.#options.mode ?? mode,
    });
    const tuned = this.#library.outcomes?.find((outcome) => this.#objectives.metrics.includes(outcome));
    if (tuned !== undefined)
      throw new RangeError(
        `Cannot search with ${name}: the metric ${JSON.stringify(tuned)} is searched for, and cannot be constrained, too`,
      );
    this.#space = space;
    this.#axes = axesOf(space, name);
    if (define !== undefined && this.#axes[0] !== undefined)
      throw new RangeError(
        `Cannot search ${JSON.stringify(this.#axes[0].name)} with ${name}: its space function says what is searched: suggest it there, and leave constants in paramSpace`,
      );
    for (const { name: place, domain } of this.#axes)
      if (domain.kind === "normal")
        throw new RangeError(
          `Cannot search ${JSON.stringify(place)} with ${name}: it knows no normal distributions: use uniform, or TPESearch`,
        );
    for (const reward of this.#options.evaluatedRewards ?? []) {
      const losses = (typeof reward === "number" ? [reward] : reward).map((value, index) => value * (this.#objectives.signs[index] ?? 1));
      this.#log.push(["observe", "", { point: this.#nextGiven() ?? {}, losses }]);
    }
  }

  async suggest(trialId: string): Promise<Suggestion> {
    const { define } = this.#library;
    if (define !== undefined) return await this.#suggestBy(define, trialId);
    const actor = await this.#started();
    const given = this.#nextGiven();
    const point = given ?? (await actor.ask.remote(trialId));
    if (given !== undefined) await actor.give.remote(trialId, given);
    if (this.#library.isStored) await actor.mark.remote(trialId);
    this.#log.push([given === undefined ? "ask" : "give", trialId, point]);
    this.#running.add(trialId);
    return configOf(this.#space, new Map(Object.entries(point)));
  }

  /** The configuration that a space function makes of the library's suggestions. A trial whose function throws has failed for the library, too. */
  async #suggestBy(define: SpaceFunction, trialId: string): Promise<Config> {
    const actor = await this.#started();
    const given = this.#nextConfig();
    if (given === undefined) await actor.ask.remote(trialId);
    const suggestions = new Suggestions(this.#library.name, async (axis) =>
      given === undefined
        ? await actor.suggest.remote(trialId, plainAxis(axis))
        : givenValue(axis, readPoint({ [axis.name]: axis.domain }, given)),
    );
    let hasFailed = true;
    try {
      const config = await suggestions.configBy(define, { trialId, constants: this.#space });
      hasFailed = false;
      return config;
    } finally {
      const { point } = suggestions;
      const axes = suggestions.axes.filter(({ name }) => Object.hasOwn(point, name)).map(plainAxis);
      if (given !== undefined) await actor.give.remote(trialId, point, axes);
      this.#log.push([given === undefined ? "ask" : "give", trialId, point, axes]);
      this.#running.add(trialId);
      if (hasFailed) await this.onTrialComplete(trialId, undefined, true);
    }
  }

  async onTrialComplete(trialId: string, result?: TrialResult, error = false): Promise<void> {
    if (!this.#running.delete(trialId)) return;
    const { metrics, signs } = this.#objectives;
    const { outcomes = [] } = this.#library;
    const told = { metrics: [...metrics, ...outcomes], signs: [...signs, ...outcomes.map(() => 1)] };
    const losses = error ? null : (lossesOf(told, result) ?? null);
    const actor = await this.#started();
    await actor.tell.remote(trialId, losses);
    this.#log.push(["tell", trialId, losses]);
  }

  save(): JsonValue {
    return structuredClone({ seed: this.#seed, given: this.#given, log: this.#log, running: [...this.#running] });
  }

  async restore(state: JsonValue): Promise<void> {
    const saved = structuredClone(state) as unknown as { seed: number; given: number; log: Call[]; running: string[] };
    await this.close();
    this.#seed = saved.seed;
    this.#given = saved.given;
    this.#log = saved.log;
    this.#running = new Set(saved.running);
  }

  /** Ends the library's process, also while it starts: all that it knows is in the log, or in its storage. Another question starts it again. */
  async close(): Promise<void> {
    const actor = this.#actor;
    this.#actor = undefined;
    if (actor !== undefined) await kill(actor.handle);
  }

  /** The actor, which knows everything of the log. */
  async #started(): Promise<ActorHandle<PythonSearcher>> {
    const actor = (this.#actor ??= this.#start());
    try {
      await actor.replayed;
      return actor.handle;
    } catch (error) {
      if (this.#actor === actor) this.#actor = undefined;
      throw error;
    }
  }

  #start(): StartedLibrary {
    const { className, options, isStored } = this.#library;
    const { runtimeEnv } = this.#options;
    const actorClass = python.actor<PythonSearcher, [axes: JsonValue, options: JsonValue]>("shoal._searchers", className, {
      numCpus: 0,
      ...(runtimeEnv === undefined ? {} : { runtimeEnv: runtimeEnv }),
    });
    const handle = actorClass.remote(this.#axes.map(plainAxis), {
      ...options,
      seed: this.#seed,
      objectives: this.#objectives.metrics.length,
    });
    // A storage already has the trials: repeated asks and tells find them by their ids.
    const log = isStored ? this.#log.filter(([call, trialId]) => this.#running.has(trialId) && call !== "tell") : this.#log;
    return { handle, replayed: handle.replay.remote(log) };
  }

  /** The next of the user's points. */
  #nextGiven(): PlainPoint | undefined {
    const config = this.#nextConfig();
    if (config === undefined) return undefined;
    const values = readPoint(this.#space, config);
    const point: Record<string, number> = {};
    for (const axis of this.#axes) {
      const { name, condition } = axis;
      if (condition !== undefined && point[(this.#axes[condition.axis] as Axis).name] !== condition.option) continue;
      point[name] = givenValue(axis, values);
    }
    return point;
  }

  #nextConfig(): Readonly<Record<string, unknown>> | undefined {
    const config = this.#options.pointsToEvaluate?.[this.#given];
    if (config !== undefined) this.#given += 1;
    return config;
  }
}

/** The value of an axis in a point of the user's; where the point leaves it out, the middle of the axis, or the first option. */
function givenValue({ name, domain }: Axis, values: ReadonlyMap<string, number>): number {
  const value = values.get(name);
  if (value !== undefined) return value;
  if (domain.kind !== "float" && domain.kind !== "integer") return 0;
  const [low, high] = domain.kind === "float" ? [domain.lower, domain.upper] : [domain.first, domain.last];
  return toAllowed(domain, domain.log ? Math.sqrt(low * high) : (low + high) / 2);
}

/** An axis as `_searchers.py` reads it. */
function plainAxis({ name, domain, condition }: Axis): JsonValue {
  const under = condition === undefined ? {} : { condition: { ...condition } };
  if (domain.kind === "float")
    return {
      name,
      kind: "float",
      low: domain.quantum === undefined ? domain.lower : toAllowed(domain, domain.lower),
      high: domain.quantum === undefined ? domain.upper : toAllowed(domain, domain.upper),
      log: domain.log,
      step: domain.quantum ?? null,
      ...under,
    };
  if (domain.kind === "integer")
    return {
      name,
      kind: "int",
      low: toAllowed(domain, domain.first),
      high: toAllowed(domain, domain.last),
      log: domain.log,
      step: domain.quantum,
      ...under,
    };
  return { name, kind: "choice", count: domain.kind === "choice" ? domain.options.length : 1, log: false, ...under };
}
