/**
 * Spaces that a function defines as it runs: it requests one value after another, and may choose the next by the values it has.
 *
 * Decides which values a function may request, and the configuration that results; the searcher provides the numbers. The suggestions of
 * one trial are kept as axes and a point, as those of a whole space are, in the order of the requests.
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import { configOf, type Domain, isDomain, placesOf, resolveSpace, type SearchSpace } from "../spaces/space.ts";
import type { Config } from "../trials/trial.ts";
import { type Axis, axesOf } from "./numbers/axes.ts";

/** The trial that a space function asks. */
export interface SuggestingTrial {
  readonly trialId: string;
  /**
   * The value of this trial in a domain. Each name is requested once in a trial; in other trials it may have other bounds.
   *
   * @throws TypeError, RangeError for a domain that cannot be suggested
   */
  suggest<T>(name: string, domain: Domain<T>): Promise<T>;
}

/**
 * Asks a trial for the values of a configuration. A returned object is put over the suggested values, which are in the configuration by
 * their names.
 */
export type SpaceFunction = (trial: SuggestingTrial) => object | void | Promise<object | void>;

/** The suggestions of one trial so far. */
export class Suggestions {
  readonly axes: Axis[] = [];
  readonly point: Record<string, number> = {};
  readonly #searcher: string;
  readonly #decide: (axis: Axis) => Promise<number>;
  #values: Config = {};
  #isOver = false;

  /** @param decide - the number of an axis: a value, or the index of an option */
  constructor(searcher: string, decide: (axis: Axis) => Promise<number>) {
    this.#searcher = searcher;
    this.#decide = decide;
  }

  /**
   * The configuration of a trial.
   *
   * @param constants - the rest of the configuration: values, and functions of all others
   * @throws errors of the function
   */
  async configBy(define: SpaceFunction, { trialId, constants }: { trialId: string; constants: SearchSpace }): Promise<Config> {
    try {
      const suggest: SuggestingTrial["suggest"] = (name, domain) => {
        const value = this.#suggest(name, domain);
        // A function that does not await it gets the error at its end; until then it must not count as unhandled.
        value.catch(() => undefined);
        return value as never;
      };
      const returned = await define({ trialId, suggest });
      const missing = this.axes.find(({ name }) => !Object.hasOwn(this.#values, name));
      if (missing !== undefined)
        throw new TypeError(
          `${this.#cannot(missing.name)}: the space function ended before it had the value: write await trial.suggest(${JSON.stringify(missing.name)}, ...)`,
        );
      return resolveSpace({ ...constants, ...this.#values, ...checkedReturn(returned) }, () => 0);
    } finally {
      this.#isOver = true;
    }
  }

  async #suggest(name: string, domain: unknown): Promise<unknown> {
    const space = { [name]: this.#checked(name, domain) };
    const [axis] = axesOf(space, this.#searcher) as [Axis];
    this.axes.push(axis);
    const value = await this.#decide(axis);
    this.point[name] = value;
    this.#values = { ...this.#values, ...configOf(space, new Map([[name, value]])) };
    return this.#values[name];
  }

  #checked(name: unknown, domain: unknown): Domain {
    if (typeof name !== "string" || name === "")
      throw new TypeError(`Cannot suggest a value: its name is needed: received ${describeValue(name)}`);
    if (this.#isOver) throw new TypeError(`${this.#cannot(name)}: the space function has ended: await each suggestion in it`);
    if (!isDomain(domain))
      throw new TypeError(`${this.#cannot(name)}: a domain is needed, such as uniform(0, 1): received ${describeValue(domain)}`);
    if (domain.kind === "sampleFrom" || domain.kind === "normal")
      throw new RangeError(
        `${this.#cannot(name)}: ${domain.kind === "normal" ? "there are no normal distributions: use uniform" : "a sampleFrom is no domain of a searcher: compute the value, and return it"}`,
      );
    if (placesOf({ [name]: domain }).length > 1)
      throw new RangeError(`${this.#cannot(name)}: its options hold domains: suggest these by themselves, once the option is chosen`);
    if (this.axes.some((axis) => axis.name === name))
      throw new RangeError(`${this.#cannot(name)}: this trial has a value of that name: keep it in a variable, or take another name`);
    return domain;
  }

  #cannot(name: string): string {
    return `Cannot suggest ${JSON.stringify(name)} with ${this.#searcher}`;
  }
}

function checkedReturn(returned: unknown): Readonly<Record<string, unknown>> {
  if (returned === undefined) return {};
  if (!isPlainObject(returned))
    throw new TypeError(
      `Cannot use what a space function returned: an object of values for the configuration, or nothing, is needed: received ${describeValue(returned)}`,
    );
  const waiting = Object.keys(returned).find((key) => returned[key] instanceof Promise);
  if (waiting !== undefined)
    throw new TypeError(
      `Cannot use what a space function returned: ${JSON.stringify(waiting)} is a promise: write await before trial.suggest(...)`,
    );
  const [place] = placesOf(returned);
  if (place !== undefined)
    throw new TypeError(
      `Cannot use what a space function returned: ${JSON.stringify(place.name)} is a domain: take its value from await trial.suggest(...)`,
    );
  return returned;
}
