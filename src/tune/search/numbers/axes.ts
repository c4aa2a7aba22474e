/**
 * The places of a search space as axes for models: numbers from 0 to 1 and choices.
 *
 * A number domain becomes the unit interval, after its logarithm where it has one; a normal domain becomes its quantiles. Each value of an integer or quantized
 * domain owns a cell of the interval, half a step to either side, so that the ends are as likely as the rest. A choice keeps its index. `null` on an axis of a
 * point says that the place does not count there, as its condition does not hold.
 */
import { placesOf, resolveSpace, type SearchSpace, type SearchedDomain, toAllowed } from "../../spaces/space.ts";
import type { Config } from "../../trials/trial.ts";
import { normalCdf, normalQuantile } from "./normal-distribution.ts";

/** A configuration as one number an axis: 0 to 1, the index of a choice, or null where the place does not count. */
export type UnitPoint = (number | null)[];

export interface Axis {
  readonly name: string;
  readonly domain: SearchedDomain;
  /** How many options a choice has; 0 for numbers. */
  readonly choiceCount: number;
  /** Where the axis counts: the index of another axis, and the option it must have. */
  readonly condition: { readonly axis: number; readonly option: number } | undefined;
  /** Half the distance between two values before the logarithm, in the domain's own unit; 0 if it is continuous. */
  readonly halfStep: number;
  /** The ends of the unit interval in the domain's own unit, after its logarithm. Unused for choices and normal domains. */
  readonly from: number;
  readonly to: number;
}

/** Normal domains are searched between these quantiles: about five standard deviations to either side. */
const QUANTILE_MIN = 3e-7;

/** @throws RangeError for a space with a grid, which only random search can walk */
export function axesOf(space: SearchSpace, searcher: string): Axis[] {
  const places = placesOf(space);
  const indexes = new Map(places.map(({ name }, index) => [name, index]));
  return places.map(({ name, domain, condition }) => {
    if (domain.kind === "grid")
      throw new RangeError(
        `Cannot search ${JSON.stringify(name)} with ${searcher}: a gridSearch is walked by random search alone: use choice(), or leave out searchAlg`,
      );
    return {
      name,
      domain,
      choiceCount: domain.kind === "choice" ? domain.options.length : 0,
      condition: condition && { axis: indexes.get(condition.name) as number, option: condition.index },
      ...extentOf(domain),
    };
  });
}

function extentOf(domain: SearchedDomain): Pick<Axis, "halfStep" | "from" | "to"> {
  if (domain.kind === "choice" || domain.kind === "grid" || domain.kind === "normal") return { halfStep: 0, from: 0, to: 1 };
  const [lower, upper] = domain.kind === "float" ? [domain.lower, domain.upper] : [domain.first, domain.last];
  const halfStep = (domain.quantum ?? 0) / 2;
  const [first, last] = [toAllowed(domain, lower), toAllowed(domain, upper)];
  if (!domain.log) return { halfStep, from: first - halfStep, to: last + halfStep };
  // The cell below the first multiple of a large quantum would reach 0, which has no logarithm.
  return { halfStep, from: Math.log(Math.max(first - halfStep, first / 2)), to: Math.log(last + halfStep) };
}

/** The place of a value on its axis. */
export function toUnit({ domain, from, to }: Axis, value: number): number {
  if (domain.kind === "choice" || domain.kind === "grid") return value;
  if (domain.kind === "normal") return clampUnit(normalCdf((value - domain.mean) / domain.sd));
  return clampUnit(((domain.log ? Math.log(value) : value) - from) / (to - from));
}

/** The allowed value at a place of an axis. */
export function fromUnit({ domain, from, to }: Axis, unit: number): number {
  if (domain.kind === "choice" || domain.kind === "grid") return unit;
  if (domain.kind === "normal") {
    const quantile = Math.min(1 - QUANTILE_MIN, Math.max(QUANTILE_MIN, unit));
    return toAllowed(domain, domain.mean + domain.sd * normalQuantile(quantile));
  }
  const inner = from + unit * (to - from);
  return toAllowed(domain, domain.log ? Math.exp(inner) : inner);
}

/** The part of the unit interval that belongs to the value at `unit`: a point for continuous axes. */
export function cellOf(axis: Axis, unit: number): { low: number; high: number } {
  const { halfStep, domain, from, to } = axis;
  if (halfStep === 0 || domain.kind === "normal") return { low: unit, high: unit };
  const value = fromUnit(axis, unit);
  const scaled = (bound: number) => clampUnit(((isLog(domain) ? Math.log(bound) : bound) - from) / (to - from));
  const low = isLog(domain) && value - halfStep <= 0 ? 0 : scaled(value - halfStep);
  return { low, high: scaled(value + halfStep) };
}

/** Whether the place of an axis counts in a point whose earlier axes are set. */
export function counts({ condition }: Axis, point: UnitPoint): boolean {
  return condition === undefined || point[condition.axis] === condition.option;
}

interface AxesPoint {
  readonly axes: readonly Axis[];
  readonly point: UnitPoint;
  /** Values by place that a user gave: rounding on the way to the axis and back would change their last digits. */
  readonly exact?: ReadonlyMap<string, number> | undefined;
}

/** The configuration of a point. */
export function configAt(space: SearchSpace, { axes, point, exact }: AxesPoint): Config {
  const indexes = new Map(axes.map(({ name }, index) => [name, index]));
  return resolveSpace(space, ({ name }) => {
    const given = exact?.get(name);
    if (given !== undefined) return given;
    const index = indexes.get(name) as number;
    return fromUnit(axes[index] as Axis, point[index] as number);
  });
}

function isLog(domain: SearchedDomain): boolean {
  return "log" in domain && domain.log;
}

function clampUnit(value: number): number {
  return Math.min(1, Math.max(0, value));
}
