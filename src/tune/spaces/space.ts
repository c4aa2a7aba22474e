/**
 * Search spaces: configurations with domains in the place of values.
 *
 * A domain is plain data that says which values a place takes; only `sampleFrom` holds a function. Every search walks a space with {@link
 * resolveSpace}, which asks for one number for each domain that counts: the value of a number, the index of a choice. Domains inside an
 * option of a choice are conditional: they are asked for only if their option was chosen. So to a searcher a configuration is a map from
 * the names of places to numbers ({@link Point}), and {@link readPoint} converts a configuration that a user wrote.
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import { DOMAIN, isMarkedDomain, type MarkedDomain } from "../../runs/domain.ts";
import type { Random } from "./random.ts";
import type { Config } from "../trials/trial.ts";

/** A place of a space whose value is searched; `T` is the type of the values. */
export type Domain<T = unknown> = DomainData & MarkedDomain<T>;

export type DomainData = FloatDomain | NormalDomain | IntegerDomain | ChoiceDomain | SampleFrom | GridDomain;

/**
 * A real number from `lower` up to and without `upper`; in steps of `quantum`, multiples of the quantum and up to `upper`. `log`: uniform
 * in the logarithm.
 */
interface FloatDomain {
  readonly kind: "float";
  readonly lower: number;
  readonly upper: number;
  readonly log: boolean;
  readonly quantum?: number;
}

/** A normally distributed number, in steps of `quantum` where there is one. */
interface NormalDomain {
  readonly kind: "normal";
  readonly mean: number;
  readonly sd: number;
  readonly quantum?: number;
}

/**
 * A whole number from `first` to `last`, both possible, in steps of `quantum` from multiples of the quantum. `log`: uniform in the
 * logarithm.
 */
interface IntegerDomain {
  readonly kind: "integer";
  readonly first: number;
  readonly last: number;
  readonly log: boolean;
  readonly quantum: number;
}

/** A choice among options, which may be objects that hold domains. */
interface ChoiceDomain {
  readonly kind: "choice";
  readonly options: readonly unknown[];
}

/** A value computed from the rest of the configuration, after all other values. Searchers never decide it. */
interface SampleFrom {
  readonly kind: "sampleFrom";
  readonly sample: (config: Config) => unknown;
}

/** Each of some values in turn. */
interface GridDomain {
  readonly kind: "grid";
  readonly values: readonly unknown[];
}

/** Domains that a searcher decides: all but `sampleFrom`, and `gridSearch`, which only random search takes. */
export type SearchedDomain = FloatDomain | NormalDomain | IntegerDomain | ChoiceDomain | GridDomain;

/** A configuration with domains in it, nested as the user likes. */
export type SearchSpace = Readonly<Record<string, unknown>>;

/** The configuration of a trial: each domain is replaced by its value, choices keep their literal types, and everything else stays. */
export type Sampled<S> =
  S extends Domain<infer T>
    ? T
    : S extends string | number | boolean | bigint | null | undefined | symbol | ((...args: never[]) => unknown) | Date | ArrayBufferView
      ? S
      : S extends readonly unknown[]
        ? { -readonly [K in keyof S]: Sampled<S[K]> }
        : S extends object
          ? { -readonly [K in keyof S]: Sampled<S[K]> }
          : S;

// ---------------------------------------------------------------------------------------------------------------------
// Domains

/** A number from `lower` up to and without `upper`. */
export function uniform(lower: number, upper: number): Domain<number> {
  return float("uniform", { lower, upper, log: false });
}

/** A multiple of `q` from `lower` to `upper`, both possible. */
export function quniform(lower: number, upper: number, q: number): Domain<number> {
  return float("quniform", { lower, upper, log: false, quantum: q });
}

/** A number from `lower`, above 0, up to and without `upper`, uniform in its logarithm: for learning rates and the like. */
export function loguniform(lower: number, upper: number): Domain<number> {
  return float("loguniform", { lower, upper, log: true });
}

/** A multiple of `q` from `lower` to `upper`, both possible, uniform in its logarithm. */
export function qloguniform(lower: number, upper: number, q: number): Domain<number> {
  return float("qloguniform", { lower, upper, log: true, quantum: q });
}

/** A normally distributed number. Default: mean 0, standard deviation 1. */
export function randn(mean = 0, sd = 1): Domain<number> {
  return normal("randn", { mean, sd });
}

/** A multiple of `q`, normally distributed. */
export function qrandn(mean: number, sd: number, q: number): Domain<number> {
  return normal("qrandn", { mean, sd, quantum: q });
}

/** A whole number from `lower` up to and without `upper`. */
export function randint(lower: number, upper: number): Domain<number> {
  requireWhole("randint", [lower, upper]);
  return integer("randint", { first: lower, last: upper - 1, log: false, quantum: 1 });
}

/** A multiple of `q` from `lower` to `upper`, both possible. */
export function qrandint(lower: number, upper: number, q = 1): Domain<number> {
  return integer("qrandint", { first: lower, last: upper, log: false, quantum: q });
}

/** A whole number from `lower`, above 0, up to and without `upper`, uniform in its logarithm. */
export function lograndint(lower: number, upper: number): Domain<number> {
  requireWhole("lograndint", [lower, upper]);
  return integer("lograndint", { first: lower, last: upper - 1, log: true, quantum: 1 });
}

/** A multiple of `q` from `lower` to `upper`, both possible, uniform in its logarithm. */
export function qlograndint(lower: number, upper: number, q: number): Domain<number> {
  return integer("qlograndint", { first: lower, last: upper, log: true, quantum: q });
}

/**
 * A choice among options. Options may be objects that hold domains, which are searched only where their object is chosen.
 *
 * @example
 * choice(["relu", "tanh"]);
 * choice([{ kind: "svm", c: loguniform(1e-3, 1e3) }, { kind: "forest", trees: randint(10, 200) }]);
 */
export function choice<const T extends readonly unknown[]>(options: T): Domain<Sampled<T[number]>> {
  requireList("choice", options);
  return domain({ kind: "choice", options: [...options] });
}

/** A value that a function computes from the rest of the configuration, after all other domains have their values. Several functions are called in the order of the space. */
export function sampleFrom<T>(sample: (config: any) => T): Domain<Awaited<T>> {
  if (typeof sample !== "function")
    throw new TypeError(`Cannot sample from a function: a function of the configuration is needed: received ${describeValue(sample)}`);
  return domain({ kind: "sampleFrom", sample });
}

/** Each of some values: the whole grid of a space is run `numSamples` times. */
export function gridSearch<const T extends readonly unknown[]>(values: T): Domain<Sampled<T[number]>> {
  requireList("gridSearch", values);
  return domain({ kind: "grid", values: [...values] });
}

export function isDomain(value: unknown): value is Domain {
  return isMarkedDomain(value);
}

/** Makes a domain from data that were read from a file. */
export function toDomain(data: DomainData): Domain {
  return domain(data);
}

function domain<T>(data: DomainData): Domain<T> {
  return Object.freeze({ ...data, [DOMAIN]: true as const });
}

function float(name: string, data: Omit<FloatDomain, "kind">): Domain<number> {
  requireRange(name, data.lower, data.upper);
  if (data.log) requirePositive(name, data.lower);
  if (data.quantum !== undefined) requireQuantum(name, { lower: data.lower, upper: data.upper, quantum: data.quantum });
  return domain({ kind: "float", ...data });
}

function normal(name: string, data: Omit<NormalDomain, "kind">): Domain<number> {
  requireFinite(name, "the mean", data.mean);
  requireFinite(name, "the standard deviation", data.sd);
  if (data.sd <= 0) throw new RangeError(`Cannot make ${name}: the standard deviation must be above 0: received ${data.sd}`);
  if (data.quantum !== undefined && !(data.quantum > 0))
    throw new RangeError(`Cannot make ${name}: q must be above 0: received ${describeValue(data.quantum)}`);
  return domain({ kind: "normal", ...data });
}

function requireWhole(name: string, bounds: readonly unknown[]): void {
  for (const bound of bounds)
    if (!Number.isSafeInteger(bound))
      throw new TypeError(`Cannot make ${name}: whole numbers are needed: received ${describeValue(bound)}`);
}

function integer(name: string, data: Omit<IntegerDomain, "kind">): Domain<number> {
  requireWhole(name, [data.first, data.last, data.quantum]);
  if (data.first > data.last)
    throw new RangeError(`Cannot make ${name}: no number is from ${data.first} up to ${data.last}: give the lower bound first`);
  if (data.log) requirePositive(name, data.first);
  requireQuantum(name, { lower: data.first, upper: data.last, quantum: data.quantum });
  return domain({ kind: "integer", ...data });
}

function requireFinite(name: string, bound: string, value: unknown): void {
  if (typeof value !== "number" || !Number.isFinite(value))
    throw new TypeError(`Cannot make ${name}: ${bound} must be a finite number: received ${describeValue(value)}`);
}

function requireRange(name: string, lower: number, upper: number): void {
  requireFinite(name, "the lower bound", lower);
  requireFinite(name, "the upper bound", upper);
  if (lower >= upper) throw new RangeError(`Cannot make ${name}: the lower bound must be below the upper: received ${lower} and ${upper}`);
}

function requirePositive(name: string, lower: number): void {
  if (lower <= 0)
    throw new RangeError(`Cannot make ${name}: the lower bound must be above 0, as there is no logarithm of others: received ${lower}`);
}

function requireQuantum(name: string, { lower, upper, quantum }: { lower: number; upper: number; quantum: number }): void {
  requireFinite(name, "q", quantum);
  if (quantum <= 0) throw new RangeError(`Cannot make ${name}: q must be above 0: received ${quantum}`);
  const { from, to } = multiples(lower, upper, quantum);
  if (from > to) throw new RangeError(`Cannot make ${name}: no multiple of ${quantum} lies from ${lower} to ${upper}`);
}

function requireList(name: string, options: unknown): void {
  if (!Array.isArray(options))
    throw new TypeError(`Cannot make ${name}: a list is needed, such as ${name}([1, 2, 3]): received ${describeValue(options)}`);
  if (options.length === 0) throw new RangeError(`Cannot make ${name}: the list is empty`);
}

// ---------------------------------------------------------------------------------------------------------------------
// Numbers of domains

/** The first and the last multiple of a quantum between two bounds, counted in quanta. A bound that a double barely misses counts as met. */
function multiples(lower: number, upper: number, quantum: number): { from: number; to: number } {
  return { from: Math.ceil(lower / quantum - 1e-9), to: Math.floor(upper / quantum + 1e-9) };
}

/** A multiple of a quantum without the digits that the product adds: 3 * 0.1 is 0.3. */
function multiple(count: number, quantum: number): number {
  return Number((count * quantum).toPrecision(15));
}

/** A random value of a number domain, or the index of an option. */
export function draw(from: SearchedDomain, random: Random): number {
  switch (from.kind) {
    case "choice":
      return random.integer(from.options.length);
    case "grid":
      return random.integer(from.values.length);
    case "normal":
      return toAllowed(from, from.mean + from.sd * random.normal());
    case "float":
      return drawNumber(from, random);
    case "integer":
      return drawNumber({ lower: from.first, upper: from.last, log: from.log, quantum: from.quantum }, random);
  }
}

function drawNumber({ lower, upper, log, quantum }: Omit<FloatDomain, "kind">, random: Random): number {
  if (quantum === undefined)
    return clamp(log ? Math.exp(random.uniform(Math.log(lower), Math.log(upper))) : random.uniform(lower, upper), lower, upper);
  const { from, to } = multiples(lower, upper, quantum);
  if (!log) return multiple(from + random.integer(to - from + 1), quantum);
  // A multiple of the quantum represents the half quantum on either side.
  const least = Math.max(from - 0.5, from / 2);
  const drawn = Math.exp(random.uniform(Math.log(least), Math.log(to + 0.5)));
  return multiple(clamp(Math.round(drawn), from, to), quantum);
}

/** The allowed value nearest to a number: within the bounds, and a multiple of the quantum. Indexes are rounded. */
export function toAllowed(to: SearchedDomain, value: number): number {
  switch (to.kind) {
    case "choice":
      return clamp(Math.round(value), 0, to.options.length - 1);
    case "grid":
      return clamp(Math.round(value), 0, to.values.length - 1);
    case "normal":
      return to.quantum === undefined ? value : multiple(Math.round(value / to.quantum), to.quantum);
    case "float":
      return to.quantum === undefined ? clamp(value, to.lower, to.upper) : nearestMultiple(value, { ...to, quantum: to.quantum });
    case "integer":
      return nearestMultiple(value, { lower: to.first, upper: to.last, quantum: to.quantum });
  }
}

function nearestMultiple(value: number, { lower, upper, quantum }: { lower: number; upper: number; quantum: number }): number {
  const { from, to } = multiples(lower, upper, quantum);
  return multiple(clamp(Math.round(value / quantum), from, to), quantum);
}

function clamp(value: number, lower: number, upper: number): number {
  return Math.min(Math.max(value, lower), upper);
}

// ---------------------------------------------------------------------------------------------------------------------
// Walking a space

/** A configuration as numbers: by the name of each place that counts, the value of a number or the index of a choice. */
export type Point = ReadonlyMap<string, number>;

/**
 * A domain in a space. The name of a place joins its keys by `/`; a choice on the way adds `#` and the index of the option:
 * `model#1/trees`.
 */
interface Place {
  readonly name: string;
  readonly domain: SearchedDomain;
  /** The choice, and the index of the option, without which this place does not count. Grids are conditions, too. */
  readonly condition?: { readonly name: string; readonly index: number };
}

/** All places that a search may have to decide, in the order of the space; those of the options of a choice follow it. */
export function placesOf(space: SearchSpace): Place[] {
  const places: Place[] = [];
  const visit = (value: unknown, name: string, condition?: Place["condition"]): void => {
    if (isDomain(value)) {
      if (value.kind === "sampleFrom") return;
      places.push({ name, domain: value, ...(condition && { condition }) });
      if (value.kind === "choice" || value.kind === "grid")
        for (const [index, option] of optionsOf(value).entries()) visit(option, `${name}#${index}`, { name, index });
    } else forEachPart(value, (part, key) => visit(part, name === "" ? key : `${name}/${key}`, condition));
  };
  visit(space, "");
  return places;
}

/**
 * A configuration of a space, where `decide` gives the number for each place that counts, in the order of the space. `sampleFrom` comes last and sees the rest;
 * values that are no domains are copied as far as they are arrays and plain objects.
 *
 * @throws errors of a `sampleFrom`
 */
export function resolveSpace(space: SearchSpace, decide: (place: { name: string; domain: SearchedDomain }) => number): Config {
  const later: { into: Record<string, unknown>; key: string; sample: (config: Config) => unknown }[] = [];
  const resolve = (value: unknown, name: string): unknown => {
    if (isDomain(value)) {
      if (value.kind === "sampleFrom") return undefined;
      const decided = decide({ name, domain: value });
      if (value.kind !== "choice" && value.kind !== "grid") return decided;
      return resolveInto(optionsOf(value)[decided], `${name}#${decided}`);
    }
    return resolveInto(value, name);
  };
  const resolveInto = (value: unknown, name: string): unknown => {
    if (isDomain(value)) return resolve(value, name);
    if (!Array.isArray(value) && !isPlainObject(value)) return value;
    const into: Record<string, unknown> = Array.isArray(value) ? ([] as unknown as Record<string, unknown>) : {};
    forEachPart(value, (part, key) => {
      setOwn(into, key, resolve(part, name === "" ? key : `${name}/${key}`));
      if (isDomain(part) && part.kind === "sampleFrom") later.push({ into, key, sample: part.sample });
    });
    return into;
  };
  const config = resolveInto(space, "") as Config;
  for (const { into, key, sample } of later) setOwn(into, key, sample(config));
  return config;
}

/** A random configuration. */
export function sampleSpace(space: SearchSpace, random: Random): Config {
  return resolveSpace(space, ({ domain: from }) => draw(from, random));
}

/** The configuration of a point. @throws Error for a point that lacks a place that counts, naming it */
export function configOf(space: SearchSpace, point: Point): Config {
  return resolveSpace(space, ({ name, domain: of }) => {
    const value = point.get(name);
    if (value === undefined) throw new Error(`Cannot make a configuration: the point has no value for ${JSON.stringify(name)}`);
    return toAllowed(of, value);
  });
}

/**
 * The point of a configuration that a user wrote, whole or in part. Places that the configuration leaves out are left out of the point.
 * For a choice, the first option counts that equals the value or, if the option holds domains, that the value fits.
 *
 * @throws RangeError for a value that its place cannot have, naming both
 */
export function readPoint(space: SearchSpace, config: Readonly<Record<string, unknown>>): Map<string, number> {
  const point = new Map<string, number>();
  const read = (value: unknown, given: unknown, name: string): void => {
    if (given === undefined) return;
    if (isDomain(value)) {
      if (value.kind === "sampleFrom") return;
      if (value.kind === "choice" || value.kind === "grid") {
        const options = optionsOf(value);
        const index = options.findIndex((option) => fitsOption(option, given));
        if (index < 0) throw new RangeError(`Cannot use a point: ${JSON.stringify(name)} has no option ${describeValue(given)}`);
        point.set(name, index);
        read(options[index], given, `${name}#${index}`);
        return;
      }
      if (typeof given !== "number" || !isInside(value, given))
        throw new RangeError(
          `Cannot use a point: ${JSON.stringify(name)} does not take ${describeValue(given)}: its domain is ${describeDomain(value)}`,
        );
      point.set(name, given);
      return;
    }
    if (!Array.isArray(given) && !isPlainObject(given)) return;
    forEachPart(value, (part, key) => read(part, (given as Record<string, unknown>)[key], name === "" ? key : `${name}/${key}`));
  };
  read(space, config, "");
  return point;
}

/** A domain in a few words, as the user would write it. */
function describeDomain(of: DomainData): string {
  const quantum = "quantum" in of && of.quantum !== undefined && of.quantum !== 1 ? ` in steps of ${of.quantum}` : "";
  switch (of.kind) {
    case "float":
      return `${of.log ? "loguniform" : "uniform"} from ${of.lower} to ${of.upper}${quantum}`;
    case "integer":
      return `${of.log ? "log-uniform integers" : "integers"} from ${of.first} to ${of.last}${quantum}`;
    case "normal":
      return `normal with mean ${of.mean} and standard deviation ${of.sd}${quantum}`;
    case "choice":
      return `a choice of ${of.options.length}`;
    case "grid":
      return `a grid of ${of.values.length}`;
    case "sampleFrom":
      return "a function of the rest";
  }
}

/**
 * Calls `use` for each combination of the values of grids, the last place changing fastest, as in nested loops. Grids inside choices are
 * left out: they are drawn.
 */
export function forEachGridPoint(space: SearchSpace, use: (point: Point) => void): void {
  const places = placesOf(space).filter(({ domain: { kind } }) => kind === "grid");
  const byName = new Map(places.map((place) => [place.name, place]));
  const inGrids = places.filter(({ condition }) => condition === undefined || byName.has(condition.name));
  const point = new Map<string, number>();
  const step = (depth: number): void => {
    const place = inGrids[depth];
    if (place === undefined) {
      use(new Map(point));
      return;
    }
    const { name, condition } = place;
    if (condition !== undefined && point.get(condition.name) !== condition.index) {
      step(depth + 1);
      return;
    }
    for (let index = 0; index < optionsOf(place.domain as GridDomain).length; index += 1) {
      point.set(name, index);
      step(depth + 1);
    }
    point.delete(name);
  };
  step(0);
}

function optionsOf(of: ChoiceDomain | GridDomain): readonly unknown[] {
  return of.kind === "choice" ? of.options : of.values;
}

function forEachPart(value: unknown, use: (part: unknown, key: string) => void): void {
  if (!Array.isArray(value) && !isPlainObject(value)) return;
  for (const [key, part] of Object.entries(value)) use(part, key);
}

/** `__proto__` in a space is a key like others. */
function setOwn(into: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(into, key, { value, enumerable: true, writable: true, configurable: true });
}

function isInside(of: FloatDomain | NormalDomain | IntegerDomain, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  if (of.kind === "normal") return true;
  const [lower, upper] = of.kind === "float" ? [of.lower, of.upper] : [of.first, of.last];
  return value >= lower && value <= upper && (of.kind === "float" || Number.isInteger(value));
}

function fitsOption(option: unknown, given: unknown): boolean {
  if (isDomain(option)) {
    if (option.kind === "sampleFrom") return true;
    if (option.kind === "choice" || option.kind === "grid") return optionsOf(option).some((inner) => fitsOption(inner, given));
    return typeof given === "number" && isInside(option, given);
  }
  if (Array.isArray(option))
    return Array.isArray(given) && given.length === option.length && option.every((part, index) => fitsOption(part, given[index]));
  if (isPlainObject(option))
    return isPlainObject(given) && Object.keys(given).every((key) => Object.hasOwn(option, key) && fitsOption(option[key], given[key]));
  return Object.is(option, given);
}
