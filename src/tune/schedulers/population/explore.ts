/**
 * Changes a configuration for population based training: each mutated value is drawn again, or moved a step.
 *
 * A list moves to a neighbour, a number is multiplied by one of the factors, objects are entered. Where a domain or a function says how to draw, numbers that
 * are whole stay whole. A factor that leads beyond a domain gives the nearest value inside; in Ray it gives a value that the domain does not have. Pure, given the random numbers.
 */
import { describeValue, isPlainObject } from "../../../core/internal.ts";
import type { Random } from "../../spaces/random.ts";
import { draw, isDomain, resolveSpace, type DomainData, toAllowed } from "../../spaces/space.ts";
import type { Config } from "../../trials/trial.ts";
import { roundHalfEven } from "../rounding.ts";

/** Values by name: a list, a domain, a function that draws, or an object of these. */
export interface Mutations {
  readonly [name: string]: Mutation;
}
export type Mutation = readonly unknown[] | (() => unknown) | object;

interface ExploreOptions {
  readonly resampleProbability: number;
  readonly perturbationFactors: readonly number[];
  readonly random: Random;
}

/** @throws TypeError that names a mutation of no such kind */
export function checkMutations(mutations: Mutations, of: string): void {
  for (const [name, mutation] of Object.entries(mutations)) {
    if (isDomain(mutation)) {
      if (mutation.kind === "sampleFrom" || mutation.kind === "grid")
        throw new TypeError(
          `Cannot make a ${of}: ${JSON.stringify(name)} cannot be drawn from a ${mutation.kind}: give a list, a domain or a function`,
        );
    } else if (Array.isArray(mutation)) {
      if (mutation.length === 0) throw new RangeError(`Cannot make a ${of}: the list of ${JSON.stringify(name)} is empty`);
    } else if (isPlainObject(mutation)) checkMutations(mutation as Mutations, of);
    else if (typeof mutation !== "function")
      throw new TypeError(
        `Cannot make a ${of}: ${JSON.stringify(name)} is to be a list, a domain, a function or an object of these: received ${describeValue(mutation)}`,
      );
  }
}

/** Draws a new value. */
export function drawMutation(mutation: Mutation, random: Random): unknown {
  if (isDomain(mutation)) return resolveSpace({ value: mutation }, ({ domain }) => draw(domain, random))["value"];
  if (Array.isArray(mutation)) return random.pick(mutation);
  if (typeof mutation === "function") return (mutation as () => unknown)();
  return Object.fromEntries(Object.entries(mutation).map(([name, inner]) => [name, drawMutation(inner as Mutation, random)]));
}

/** The configuration with all mutations applied; the given one is left as it is. */
export function explore(config: Config, mutations: Mutations, options: ExploreOptions): Config {
  const next: Config = { ...config };
  for (const [name, mutation] of Object.entries(mutations)) next[name] = mutated(config[name], mutation, options);
  return next;
}

function mutated(value: unknown, mutation: Mutation, options: ExploreOptions): unknown {
  if (isDomain(mutation)) {
    if (mutation.kind === "choice") return movedInList(value, mutation.options, options);
    const moved = movedNumber(value, { isWhole: isWhole(mutation), sample: () => drawMutation(mutation, options.random) }, options);
    return typeof moved === "number" && mutation.kind !== "sampleFrom" ? toAllowed(mutation, moved) : moved;
  }
  if (Array.isArray(mutation)) return movedInList(value, mutation, options);
  if (typeof mutation === "function")
    return movedNumber(value, { isWhole: Number.isInteger(value), sample: () => drawMutation(mutation, options.random) }, options);
  return explore(isPlainObject(value) ? value : {}, mutation as Mutations, options);
}

/** A draw from the list, or the neighbour to either side; the ends stay. */
function movedInList(value: unknown, list: readonly unknown[], { random, resampleProbability }: ExploreOptions): unknown {
  const at = list.findIndex((item) => Object.is(item, value));
  if (random.next() < resampleProbability || at < 0) return random.pick(list);
  const shift = random.pick([-1, 1]);
  return list[Math.min(list.length - 1, Math.max(0, at + shift))];
}

function movedNumber(
  value: unknown,
  { isWhole: whole, sample }: { isWhole: boolean; sample: () => unknown },
  { random, resampleProbability, perturbationFactors }: ExploreOptions,
): unknown {
  if (random.next() < resampleProbability) {
    const drawn = sample();
    if (typeof value === "boolean") return Boolean(drawn);
    return whole && typeof drawn === "number" ? roundHalfEven(drawn) : drawn;
  }
  const factor = random.pick(perturbationFactors);
  if (typeof value !== "number") return value;
  return whole ? roundHalfEven(value * factor) : value * factor;
}

function isWhole(domain: DomainData): boolean {
  return domain.kind === "integer";
}
