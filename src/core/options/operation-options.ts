/**
 * The options of single operations: `get`, `wait`, `cancel`, `kill`, `actors` and `getActor`: one table each, with what is allowed and the default.
 *
 * Called by each of them with what the user wrote, before anything else is done. Most calls have no options: those of `get` and `wait` then cost
 * nothing. The options that stay with what they are given to (tasks, actors, methods, the session) are in `options.ts`.
 */
import {
  count,
  custom,
  flag,
  type Option,
  type OptionSubject,
  type TableOf,
  text,
  timeLimit,
  readOptions,
  withDefaults,
} from "./option-kinds.ts";
import type { ActorsOptions, KvOptions, KvPutOptions } from "../cluster-types.ts";
import type { CancelOptions, GetActorOptions, GetOptions, KillOptions, WaitOptions } from "../types.ts";

export const SIGNAL: Option<AbortSignal | undefined> = custom<AbortSignal | undefined>("an AbortSignal is needed", undefined, (value) =>
  isAbortSignal(value) ? "ok" : "wrong type",
);

const GET_OPTIONS = {
  timeoutMs: timeLimit(),
  signal: SIGNAL,
} satisfies TableOf<GetOptions>;

const WAIT_OPTIONS = {
  ...GET_OPTIONS,
  numReturns: count({ min: 1 }, 1),
  fetchLocal: flag(true),
} satisfies TableOf<WaitOptions>;

const LOCATIONS_OPTIONS = {
  ...GET_OPTIONS,
  timeoutMs: { ...timeLimit(), fallback: 1000 },
} satisfies TableOf<GetOptions>;

const CANCEL_OPTIONS = { force: flag(false), recursive: flag(true) } satisfies TableOf<CancelOptions>;

const KILL_OPTIONS = { noRestart: flag(true) } satisfies TableOf<KillOptions>;

const ACTORS_OPTIONS = { namespace: text(undefined), includeDead: flag(false) } satisfies TableOf<ActorsOptions>;

const GET_ACTOR_OPTIONS = { namespace: text(undefined) } satisfies TableOf<GetActorOptions>;

const KV_OPTIONS = { namespace: text(undefined) } satisfies TableOf<KvOptions>;

const KV_PUT_OPTIONS = { ...KV_OPTIONS, overwrite: flag(true) } satisfies TableOf<KvPutOptions>;

const GET: OptionSubject = { set: "set", of: "get", otherNames: { timeout: "it is timeoutMs, in milliseconds" } };
const WAIT: OptionSubject = { set: "set", of: "wait", otherNames: GET.otherNames };
const LOCATIONS: OptionSubject = { set: "set", of: "getObjectLocations", otherNames: { timeout: "it is timeoutMs, in milliseconds" } };
const CANCEL: OptionSubject = { set: "set", of: "cancel", otherNames: {} };
const KILL: OptionSubject = { set: "set", of: "kill", otherNames: {} };
const ACTORS: OptionSubject = { set: "set", of: "actors", otherNames: { all_namespaces: "without namespace all are listed" } };
const KV: OptionSubject = { set: "set", of: "a value's key", otherNames: { overwrite: "it is an option of kvPut" } };
const KV_PUT: OptionSubject = { ...KV, of: "kvPut", otherNames: {} };
const GET_ACTOR: OptionSubject = { set: "set", of: "getActor", otherNames: {} };

interface ResolvedGetOptions {
  /** Undefined: no limit. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** What a `get` without options goes by: most have none, so it is made once. */
const NO_LIMITS: ResolvedGetOptions = Object.freeze({ timeoutMs: undefined, signal: undefined });

/** @throws TypeError, RangeError */
export function resolveGetOptions(options?: GetOptions): ResolvedGetOptions {
  if (options === undefined) return NO_LIMITS;
  const { timeoutMs, signal } = readOptions(options, GET_OPTIONS, GET);
  return { timeoutMs: finite(timeoutMs), signal };
}

interface ResolvedWaitOptions extends ResolvedGetOptions {
  readonly numReturns: number;
  readonly fetchLocal: boolean;
}

/** What a `wait` without options goes by. */
const WAIT_FOR_ONE: ResolvedWaitOptions = Object.freeze(withDefaults({}, WAIT_OPTIONS));

/**
 * The options of a `wait` for so many refs. Of none, none are waited for, as in Ray.
 *
 * @throws TypeError, RangeError
 */
export function resolveWaitOptions(options: WaitOptions | undefined, refCount: number): ResolvedWaitOptions {
  if (options === undefined && refCount > 0) return WAIT_FOR_ONE;
  const { timeoutMs, signal, numReturns, fetchLocal } = readOptions(options, WAIT_OPTIONS, WAIT);
  if (numReturns > refCount && refCount > 0) {
    throw new RangeError(`Cannot set numReturns of wait: there are only ${refCount} references to wait for: received ${numReturns}`);
  }
  return { timeoutMs: finite(timeoutMs), signal, numReturns: Math.min(numReturns, refCount), fetchLocal };
}

/** @throws TypeError, RangeError */
export function resolveLocationsOptions(options?: GetOptions): ResolvedGetOptions {
  const { timeoutMs, signal } = readOptions(options, LOCATIONS_OPTIONS, LOCATIONS);
  return { timeoutMs: finite(timeoutMs), signal };
}

/** @throws TypeError */
export function resolveCancelOptions(options?: CancelOptions): { readonly force: boolean; readonly recursive: boolean } {
  return readOptions(options, CANCEL_OPTIONS, CANCEL);
}

/** @throws TypeError */
export function resolveKillOptions(options?: KillOptions): { readonly noRestart: boolean } {
  return readOptions(options, KILL_OPTIONS, KILL);
}

/** @throws TypeError, RangeError */
export function resolveActorsOptions(options?: ActorsOptions): { readonly namespace: string | undefined; readonly includeDead: boolean } {
  return readOptions(options, ACTORS_OPTIONS, ACTORS);
}

/** @throws TypeError, RangeError */
export function resolveGetActorOptions(options?: GetActorOptions): { readonly namespace: string | undefined } {
  return readOptions(options, GET_ACTOR_OPTIONS, GET_ACTOR);
}

/** @throws TypeError, RangeError */
export function resolveKvOptions(options?: KvOptions): { readonly namespace: string | undefined } {
  return readOptions(options, KV_OPTIONS, KV);
}

/** @throws TypeError, RangeError */
export function resolveKvPutOptions(options?: KvPutOptions): { readonly namespace: string | undefined; readonly overwrite: boolean } {
  return readOptions(options, KV_PUT_OPTIONS, KV_PUT);
}

function finite(timeoutMs: number | undefined): number | undefined {
  return timeoutMs === Number.POSITIVE_INFINITY ? undefined : timeoutMs;
}

function isAbortSignal(value: unknown): boolean {
  return typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;
}
