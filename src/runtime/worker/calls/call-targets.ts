/**
 * The functions and methods behind the numbers that a caller uses on one connection.
 *
 * A call names its target by a small number that the caller has introduced before, on the same ordered connection. Owned by one `call-server.ts`. A function is
 * looked up at its first use, because the definition may still be on the way into the process. The group of a method is looked up at the first
 * use, too, because a call may come before the actor.
 */
import { type DefinitionCache, type KeptDefinition, keptForGood } from "../../objects/definition-cache.ts";
import type { RecordedFunction } from "../../observe/call-recorder.ts";
import type { DefinitionHeader } from "../../wire/calls/definition-messages.ts";
import type { ActorHost, ConcurrencyGroup } from "../actors/actor-host.ts";
import type { MeasuredItems } from "./call-guard.ts";
import { type Measured, unmeasured } from "../tasks/interruption-guard.ts";
import { FIRST_CALL_FUNCTIONS_MAX } from "../limits.ts";
import { isReservedMethod } from "../actors/reserved-methods.ts";

export type AnyFunction = (...args: unknown[]) => unknown;

export interface CallTargetsOptions {
  definitions: DefinitionCache;
  actors: ActorHost;
  /** Functions that run as they are instead of from their definition (in-process mode). */
  localFunction: (id: string) => AnyFunction | undefined;
  /** Given for a connection that carries one call. */
  known?: KnownCallees | undefined;
}

/** The function of a task. */
export interface Callee extends Measured, RecordedFunction {
  readonly id: string;
  readonly name: string;
  /** The function where the cache of definitions has it; it may be dropped there, and is loaded again then. */
  kept: KeptDefinition | undefined;
  /** Limit on the function's calls in this process; undefined without one. */
  readonly maxCalls: number | undefined;
  readonly items: MeasuredItems;
}

/** The method of an actor. */
export interface Method extends Measured, RecordedFunction {
  readonly name: string;
  /** Not of the class, but of ours: the end of the actor, or its part of a graph. */
  readonly isReserved: boolean;
  /** Name of the concurrency group; undefined: the default group. */
  readonly groupName: string | undefined;
  group: ConcurrencyGroup | undefined;
  /** The end of a call that began where its frame arrived. */
  readonly finished: () => void;
}

type NamedFunction = Pick<DefinitionHeader, "id" | "name" | "maxCalls">;

function newCallee({ id, name, maxCalls }: NamedFunction): Callee {
  return { id, name, kept: undefined, maxCalls, ...unmeasured(), items: { count: 0, ...unmeasured() } };
}

/**
 * Functions of connections that carry one call each. Keeps their run times beyond the connection: an unmeasured function runs in a frame
 * that can be interrupted, which takes longer than a short call.
 */
export class KnownCallees {
  readonly #callees = new Map<string, Callee>();

  of(header: NamedFunction): Callee {
    const { id, name, maxCalls } = header;
    const known = this.#callees.get(id);
    if (known !== undefined && known.name === name && known.maxCalls === maxCalls) return known;
    const callee = newCallee(header);
    this.#callees.set(id, callee);
    const [oldest] = this.#callees.keys();
    if (oldest !== undefined && this.#callees.size > FIRST_CALL_FUNCTIONS_MAX) this.#callees.delete(oldest);
    return callee;
  }
}

export class CallTargets {
  readonly #options: CallTargetsOptions;
  readonly #callees = new Map<number, Callee>();
  readonly #methods: Method[] = [];
  /** Names of calls, by method. */
  readonly #callNames = new Map<string, string>();

  constructor(options: CallTargetsOptions) {
    this.#options = options;
  }

  nameFunction(header: DefinitionHeader): void {
    this.#callees.set(header.number, this.#options.known?.of(header) ?? newCallee(header));
  }

  /** The caller calls it no more. */
  forgetFunction(number: number): void {
    const callee = this.#callees.get(number);
    if (callee === undefined) return;
    this.#callees.delete(number);
    this.#options.definitions.forget(callee.id);
  }

  callee(number: number): Callee {
    const callee = this.#callees.get(number);
    if (callee === undefined) throw new Error(`Cannot run a call: definition ${number} was not sent on this connection`);
    return callee;
  }

  /** Undefined while its definition is being revived. */
  functionOf(callee: Callee): AnyFunction | undefined {
    const { definitions, localFunction } = this.#options;
    let { kept } = callee;
    if (kept === undefined || !kept.isReady) {
      const local = localFunction(callee.id);
      kept = local === undefined ? definitions.keptOf(callee.id) : keptForGood(local);
      callee.kept = kept;
      if (kept === undefined || !kept.isReady) return undefined;
    }
    if (!kept.isForGood) definitions.used(kept);
    return kept.value as AnyFunction;
  }

  nameMethod(number: number, name: string, groupName: string | undefined): void {
    const { actors } = this.#options;
    const method: Method = {
      name,
      isReserved: isReservedMethod(name),
      groupName,
      ...unmeasured(),
      group: undefined,
      finished: () => {
        if (method.group !== undefined) actors.finished(method.group);
      },
    };
    this.#methods[number] = method;
  }

  method(number: number): Method {
    const method = this.#methods[number];
    if (method === undefined) throw new Error(`Cannot run a call: method ${number} was not named on this connection`);
    method.group ??= this.#options.actors.groupOf(method.groupName);
    return method;
  }

  /** `Class.method`, as people see it. */
  callName(methodName: string): string {
    let callName = this.#callNames.get(methodName);
    if (callName === undefined) {
      callName = `${this.#options.actors.className}.${methodName}`;
      this.#callNames.set(methodName, callName);
    }
    return callName;
  }
}

/** @throws TypeError where there is none, and whatever an instance throws that is a proxy */
export function methodOf(instance: object | undefined, name: string, className: string): AnyFunction {
  const method = (instance as Record<string, unknown> | undefined)?.[name];
  if (typeof method === "function") return method as AnyFunction;
  throw new TypeError(`the actor has no method ${name}: ${className} was changed, or its handle has another class`);
}
