/**
 * The interface of an actor, which its handles need for calls: methods with their options, concurrency groups, and limits of callers.
 *
 * Made once from a class and its options, and checked there: an unknown method or group is an error before anything is sent. The interface travels with every
 * handle, and a lookup by name returns it. On the wire it is plain data. So a predicate in `retryOn` stays with the process that gave it, and error classes travel
 * by name.
 */
import type { ActorInterfaceHeader, MethodHeader } from "../../runtime/wire/messages.ts";
import { nearNames } from "../../runtime/base/texts/near-names.ts";
import { generatorOptions, type ResolvedActorOptions, type ResolvedTaskOptions, resolveMethodOptions } from "../options/options.ts";

/** The group of calls that no other group is named for; `maxConcurrency` is its limit. */
export const DEFAULT_GROUP = "default";

export interface ActorInterface {
  readonly className: string;
  /** Every method, with the options that were given for it. */
  readonly methods: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The limits of the groups by name, that of the default group among them. */
  readonly groups: Readonly<Record<string, number>>;
  readonly maxTaskRetries: number;
  /** -1: without limit. */
  readonly maxPendingCalls: number;
  readonly allowOutOfOrderExecution: boolean;
  /** The methods are known to the actor alone: any name may be called. */
  readonly isOpen: boolean;
}

const NO_OPTIONS: Readonly<Record<string, unknown>> = Object.freeze({});
const STREAMS: Readonly<Record<string, unknown>> = Object.freeze({ numReturns: "streaming" });

/** @throws TypeError for methods and groups that do not exist */
export function actorInterface(
  className: string,
  of: { readonly methods: readonly string[]; readonly streaming: readonly string[]; readonly isOpen?: boolean },
  options: ResolvedActorOptions,
): ActorInterface {
  const { methods: methodNames, streaming, isOpen = false } = of;
  const groups: Record<string, number> = { [DEFAULT_GROUP]: options.maxConcurrency, ...options.concurrencyGroups };
  const methods: Record<string, Readonly<Record<string, unknown>>> = {};
  for (const name of methodNames) methods[name] = NO_OPTIONS;
  for (const name of streaming) methods[name] = STREAMS;
  for (const [name, given] of Object.entries(options.methods)) {
    if (!isOpen && !Object.hasOwn(methods, name))
      throw new TypeError(`Cannot set options of method ${className}.${name}: ${whatExists(name, methodNames, "method")}`);
    const { concurrencyGroup } = given;
    if (concurrencyGroup !== undefined) requireGroup(concurrencyGroup as string, groups, `${className}.${name}`);
    methods[name] = methods[name] === STREAMS ? generatorOptions(given, `${className}.${name}`) : given;
  }
  const { maxTaskRetries, maxPendingCalls, allowOutOfOrderExecution } = options;
  return Object.freeze({ className, methods, groups, maxTaskRetries, maxPendingCalls, allowOutOfOrderExecution, isOpen });
}

/** @throws TypeError for a group that the actor does not have */
export function requireGroup(group: string, groups: Readonly<Record<string, number>>, method: string): void {
  if (Object.hasOwn(groups, group)) return;
  throw new TypeError(`Cannot set concurrencyGroup of ${method}: ${whatExists(group, Object.keys(groups), "concurrency group")}`);
}

/** "there is no method incremnt: did you mean increment?" */
export function whatExists(name: string, known: readonly string[], kind: string): string {
  const near = nearNames(name, known);
  const rest =
    near.length > 0 ? `: did you mean ${near.join(" or ")}?` : known.length === 0 ? `: there is none` : `: there are ${known.join(", ")}`;
  return `there is no ${kind} ${name.slice(0, 100)}${rest}`;
}

const resolved = new WeakMap<ActorInterface, Map<string, ResolvedTaskOptions>>();

/** Returns a method's default options, which a call may override. */
export function methodDefaults(of: ActorInterface, method: string): ResolvedTaskOptions {
  let known = resolved.get(of);
  if (known === undefined) {
    known = new Map();
    resolved.set(of, known);
  }
  let options = known.get(method);
  if (options === undefined) {
    options = resolveMethodOptions(of.methods[method] ?? NO_OPTIONS, { maxRetries: of.maxTaskRetries });
    known.set(method, options);
  }
  return options;
}

export function interfaceToWire({ isOpen, methods, ...header }: ActorInterface): ActorInterfaceHeader {
  const wired = Object.fromEntries(Object.entries(methods).map(([name, given]) => [name, methodToWire(given)]));
  return { ...header, methods: wired, ...(isOpen && { isOpen }) };
}

export function interfaceFromWire({ isOpen = false, methods: wired, ...header }: ActorInterfaceHeader): ActorInterface {
  const methods: Record<string, Readonly<Record<string, unknown>>> = {};
  for (const [name, given] of Object.entries(wired)) {
    const { retryOn } = given;
    methods[name] = Array.isArray(retryOn) ? { ...given, retryOn: retryOn.map(errorClassNamed) } : given;
  }
  return Object.freeze({ ...header, methods, isOpen });
}

function methodToWire(given: Readonly<Record<string, unknown>>): MethodHeader {
  const header: MethodHeader = {};
  for (const [name, value] of Object.entries(given)) {
    if (Array.isArray(value)) header[name] = (value as { name: string }[]).map((errorClass) => errorClass.name);
    else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") header[name] = value;
  }
  return header;
}

/** Stands for a class of errors that is known by its name: a retry compares names where it cannot compare classes. */
function errorClassNamed(name: string): new () => Error {
  const standIn = class extends Error {};
  Object.defineProperty(standIn, "name", { value: name });
  return standIn;
}
