/**
 * The options of single operations (`get`, `wait`, `cancel`, `kill`, `actors`, `getActor`): a table each, with allowed values and defaults.
 *
 * Each operation checks the user's options here before anything else. Most calls of `get` and `wait` have no options and cost nothing here. `options.ts` has the
 * options that stay with a task, an actor, a method or the session.
 */
import {
  count,
  custom,
  flag,
  type Option,
  type OptionSet,
  readOptions,
  text,
  timeLimit,
  type WithDefaults,
  withDefaults,
} from "./option-kinds.ts";
import type { ActorsOptions, KvOptions, KvPutOptions } from "../types/cluster-types.ts";
import type { CancelOptions, GetActorOptions, GetOptions, KillOptions, WaitOptions } from "../types/types.ts";

/** The option `signal` of a function that can be cut off. */
export const SIGNAL: Option<AbortSignal | undefined> = custom("an AbortSignal is needed", undefined, (value) =>
  isAbortSignal(value) ? "ok" : "wrong type",
);

const OTHER_NAMES = { timeout: "it is timeoutMs, in milliseconds" };
const NAMESPACE = text(undefined);

/** Undefined: no limit, no signal. */
type ResolvedGetOptions = Required<GetOptions>;
type ResolvedWaitOptions = WithDefaults<WaitOptions, keyof GetOptions>;

const GET: OptionSet<ResolvedGetOptions> = { of: "get", otherNames: OTHER_NAMES, options: { timeoutMs: timeLimit(), signal: SIGNAL } };

const WAIT: OptionSet<ResolvedWaitOptions> = {
  of: "wait",
  otherNames: OTHER_NAMES,
  options: { ...GET.options, numReturns: count({ min: 1 }, 1), fetchLocal: flag(true) },
};

export const LOCATIONS: OptionSet<ResolvedGetOptions> = {
  of: "getObjectLocations",
  otherNames: OTHER_NAMES,
  options: { ...GET.options, timeoutMs: { ...timeLimit(), fallback: 1000 } },
};

export const CANCEL: OptionSet<WithDefaults<CancelOptions>> = { of: "cancel", options: { force: flag(false), recursive: flag(true) } };

export const KILL: OptionSet<WithDefaults<KillOptions>> = { of: "kill", options: { noRestart: flag(true) } };

export const ACTORS: OptionSet<WithDefaults<ActorsOptions, "namespace">> = {
  of: "actors",
  otherNames: { all_namespaces: "without namespace all are listed" },
  options: { namespace: NAMESPACE, includeDead: flag(false) },
};

export const GET_ACTOR: OptionSet<Required<GetActorOptions>> = { of: "getActor", options: { namespace: NAMESPACE } };

export const KV: OptionSet<Required<KvOptions>> = {
  of: "a value's key",
  otherNames: { overwrite: "it is an option of kvPut" },
  options: { namespace: NAMESPACE },
};

export const KV_PUT: OptionSet<WithDefaults<KvPutOptions, "namespace">> = {
  of: "kvPut",
  options: { ...KV.options, overwrite: flag(true) },
};

/** The resolved options of a `get` without options, made once. */
const NO_LIMITS: ResolvedGetOptions = Object.freeze({ timeoutMs: undefined, signal: undefined });

/** @throws TypeError, RangeError */
export function resolveGetOptions(options?: GetOptions): ResolvedGetOptions {
  return options === undefined ? NO_LIMITS : readOptions(options, GET);
}

/** The resolved options of a `wait` without options. */
const WAIT_FOR_ONE: ResolvedWaitOptions = Object.freeze(withDefaults({}, WAIT));

/**
 * The options of a `wait` for so many refs. Of none, none are waited for, as in Ray.
 *
 * @throws TypeError, RangeError
 */
export function resolveWaitOptions(options: WaitOptions | undefined, refCount: number): ResolvedWaitOptions {
  if (options === undefined && refCount > 0) return WAIT_FOR_ONE;
  const resolved = readOptions(options, WAIT);
  const { numReturns } = resolved;
  if (numReturns > refCount && refCount > 0) {
    throw new RangeError(`Cannot set numReturns of wait: there are only ${refCount} references to wait for: received ${numReturns}`);
  }
  return { ...resolved, numReturns: Math.min(numReturns, refCount) };
}

function isAbortSignal(value: unknown): boolean {
  return typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;
}
