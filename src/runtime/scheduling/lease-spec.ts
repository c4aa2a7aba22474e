/**
 * The specification of a lease: resources, allowed places, and the environment of its worker.
 *
 * A spec and its key are equivalent. The key is canonical text (`CPU:10000` for a plain task) that callers, workers and the node daemon compare and exchange; code
 * that decides parses it. Everything beyond resources follows two commas as JSON, as no resource has an empty name, so plain tasks pay nothing. The options (to
 * make keys), the lease manager, and the workers (to report a task's resources) use it.
 */
import { isEnvironmentKey } from "../base/ids.ts";
import { RESOURCE_UNIT, type ResourceVector } from "../base/resources.ts";

/** The parts of a spec besides resources; each part is absent unless it was requested. */
export interface LeasePlace {
  /** Spread over the nodes instead of packing. */
  readonly spread?: boolean | undefined;
  /** The node; hard unless `soft`. */
  readonly node?: { readonly id: string; readonly soft: boolean } | undefined;
  /** Conditions on the node's labels; see `label-selector.ts`. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Other conditions, in their order, where no node that meets `labels` has room; see `fallbacks.ts`. Never empty, and only with `labels`. */
  readonly fallbacks?: readonly Readonly<Record<string, string>>[] | undefined;
  /** Inside a placement group: in one bundle, or with -1 in any. `capture`: the task's own submissions go there, too. */
  readonly bundle?: { readonly group: string; readonly index: number; readonly capture: boolean } | undefined;
  /** Key of the runtime environment that the worker must have; the default one has none. */
  readonly environment?: string | undefined;
}

export interface LeaseSpec extends LeasePlace {
  readonly key: string;
  readonly resources: ResourceVector;
  /** The lease's CPUs, which a task gives back while it waits for refs. */
  readonly cpus: ResourceVector;
  /** All else, which it keeps while it waits: a GPU holds the task's data, a license is taken. */
  readonly rest: ResourceVector;
  readonly environment: string;
}

const SEPARATOR = ",,";

/** The canonical text for resources and a place. */
export function leaseKey(resources: ResourceVector, place: LeasePlace): string {
  const { spread, node, labels, bundle, environment } = place;
  const sortedLabels = sorted(labels ?? {});
  const fallbacks = sortedLabels.length === 0 ? [] : usefulFallbacks(place.fallbacks ?? []);
  const parts = {
    ...(spread === true ? { spread: true } : {}),
    ...(node === undefined ? {} : { node: [node.id, node.soft] }),
    ...(sortedLabels.length === 0 ? {} : { labels: sortedLabels }),
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
    ...(bundle === undefined ? {} : { bundle: [bundle.group, bundle.index, bundle.capture] }),
    ...(environment === undefined || environment === "" ? {} : { environment }),
  };
  return Object.keys(parts).length === 0 ? resources.key : `${resources.key}${SEPARATOR}${JSON.stringify(parts)}`;
}

function sorted(labels: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Returns the fallbacks up to one that every node meets; later ones are never used. */
function usefulFallbacks(fallbacks: readonly Readonly<Record<string, string>>[]): [string, string][][] {
  const texts = fallbacks.map(sorted);
  const last = texts.findIndex((pairs) => pairs.length === 0);
  return last < 0 ? texts : texts.slice(0, last + 1);
}

/** @throws RangeError for text that `leaseKey` does not make */
export function parseLeaseSpec(key: string): LeaseSpec {
  const at = key.indexOf(SEPARATOR);
  const amounts = parseAmounts(at < 0 ? key : key.slice(0, at));
  const cpuUnits = amounts.get("CPU");
  const cpus = new Map(cpuUnits === undefined ? [] : [["CPU", cpuUnits]]);
  const rest = new Map(amounts);
  rest.delete("CPU");
  const place = at < 0 ? {} : parsePlace(key.slice(at + SEPARATOR.length));
  return { ...place, key, resources: vectorOf(amounts), cpus: vectorOf(cpus), rest: vectorOf(rest), environment: place.environment ?? "" };
}

/** A program asks for the same few shapes again and again, and reading one takes longer than all else that is checked of a message. */
const KNOWN_SPECS_MAX = 256;
/** Longer ones are read each time. */
const KNOWN_SPEC_LENGTH_MAX = 1024;
const knownSpecs = new Set<unknown>();

/** Tells whether a value from another process is a text that `leaseKey` makes. */
export function isLeaseSpec(value: unknown): boolean {
  if (knownSpecs.has(value)) return true;
  if (typeof value !== "string") return false;
  try {
    parseLeaseSpec(value);
  } catch {
    return false;
  }
  if (value.length > KNOWN_SPEC_LENGTH_MAX) return true;
  if (knownSpecs.size >= KNOWN_SPECS_MAX) knownSpecs.clear();
  knownSpecs.add(value);
  return true;
}

/** The resources that a key names, in users' units. */
export function specResources(key: string): Record<string, number> {
  const at = key.indexOf(SEPARATOR);
  const resources: Record<string, number> = {};
  for (const [name, units] of parseAmounts(at < 0 ? key : key.slice(0, at))) resources[name] = units / RESOURCE_UNIT;
  return resources;
}

/** Whether tasks of this key hold only CPUs, which they give back while they wait. */
export function holdsOnlyCpus(key: string): boolean {
  const at = key.indexOf(SEPARATOR);
  const text = at < 0 ? key : key.slice(0, at);
  return text === "" || /^CPU:\d+$/.test(text);
}

/** Tells whether a task with this key captures its own submissions into its placement group. */
export function capturesChildren(key: string): boolean {
  return key.includes(SEPARATOR) && parseLeaseSpec(key).bundle?.capture === true;
}

function parseAmounts(text: string): Map<string, number> {
  const amounts = new Map<string, number>();
  if (text === "") return amounts;
  for (const part of text.split(",")) {
    const colon = part.lastIndexOf(":");
    const units = Number(part.slice(colon + 1));
    if (colon <= 0 || !Number.isSafeInteger(units) || units <= 0) throw new RangeError(`Cannot read a lease's shape: received ${part}`);
    amounts.set(part.slice(0, colon), units);
  }
  return amounts;
}

function vectorOf(amounts: ReadonlyMap<string, number>): ResourceVector {
  return { key: Array.from(amounts, ([name, units]) => `${name}:${units}`).join(","), amounts };
}

interface PlaceText {
  spread?: boolean;
  node?: [string, boolean];
  labels?: [string, string][];
  fallbacks?: [string, string][][];
  bundle?: [string, number, boolean];
  environment?: string;
}

/** @throws RangeError for parts of other kinds: what looks for a place would find out late, among the demands of others */
function parsePlace(text: string): LeasePlace {
  const parts: unknown = JSON.parse(text);
  if (!isPlace(parts)) throw new RangeError(`Cannot read a lease's shape: received ${text}`);
  const { spread, node, labels, fallbacks, bundle, environment } = parts;
  return {
    ...(spread === true ? { spread: true } : {}),
    ...(node === undefined ? {} : { node: { id: node[0], soft: node[1] } }),
    ...(labels === undefined ? {} : { labels: Object.fromEntries(labels) }),
    ...(fallbacks === undefined ? {} : { fallbacks: fallbacks.map((pairs) => Object.fromEntries(pairs)) }),
    ...(bundle === undefined ? {} : { bundle: { group: bundle[0], index: bundle[1], capture: bundle[2] } }),
    ...(environment === undefined ? {} : { environment }),
  };
}

function isPlace(parts: unknown): parts is PlaceText {
  if (typeof parts !== "object" || parts === null) return false;
  const { spread, node, labels, fallbacks, bundle, environment } = parts as Record<string, unknown>;
  const are = (values: unknown, ...types: readonly string[]): boolean =>
    Array.isArray(values) && types.every((type, index) => typeof values[index] === type);
  const isSelector = (pairs: unknown): boolean => Array.isArray(pairs) && pairs.every((pair) => are(pair, "string", "string"));
  return (
    (spread === undefined || typeof spread === "boolean") &&
    (node === undefined || are(node, "string", "boolean")) &&
    (labels === undefined || isSelector(labels)) &&
    (fallbacks === undefined || (Array.isArray(fallbacks) && fallbacks.every(isSelector))) &&
    (bundle === undefined || (are(bundle, "string", "number", "boolean") && Number.isSafeInteger((bundle as unknown[])[1]))) &&
    (environment === undefined || isEnvironmentKey(environment))
  );
}
