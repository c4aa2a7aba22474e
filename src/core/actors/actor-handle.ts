/**
 * Handles of actors: objects whose members are exactly the methods of the actor's class, and `Symbol.dispose`.
 *
 * Handles are counted like refs: each stands for the actor's counted reference, which the node daemon owns. The creating process holds the actor until one of its
 * handles is disposed of, or until the creating task or the process ends. A received handle holds the actor until it is collected. A handle has no further members,
 * so every method name is free; `terminate`, `kill` and `ready` are functions.
 */
import { defineMembers } from "../../runtime/base/collections/define-members.ts";
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { PendingCallsLimitExceededError } from "../../runtime/base/errors.ts";
import { insideLibrary } from "../../runtime/base/library-code.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ActorClient } from "./actor-client.ts";
import { GraphActorOfClient } from "./graph-actor.ts";
import { type ActorInterface, DEFAULT_GROUP, methodDefaults, requireGroup } from "./actor-interface.ts";
import { requireSessionOf } from "../current-runtime.ts";
import { bindNode } from "../graph-binder.ts";
import { isNoMethod, unknownMethods } from "./unknown-methods.ts";
import { generatorOptions, type ResolvedTaskOptions, resolveMethodOptions } from "../options/options.ts";
import type { Runtime } from "../runtime.ts";
import type { CallTarget } from "../calls/call-record.ts";

interface ActorHandleState {
  readonly client: ActorClient;
  readonly interface: ActorInterface;
  readonly entry: ObjectEntry;
  readonly runtime: Runtime;
}

// Two copies of the package in one process share a runtime, which must know the handles of both.
const KEY = Symbol.for("shoal.actor-handles.1");
const holder = globalThis as unknown as Record<symbol, WeakMap<object, ActorHandleState> | undefined>;
const states = (holder[KEY] ??= new WeakMap<object, ActorHandleState>());

export function actorHandleState(value: object): ActorHandleState | undefined {
  return states.get(value);
}

/** Returns the state of a handle. @throws TypeError for any other value */
export function requireHandle(value: unknown, what: string): ActorHandleState {
  const state = typeof value === "object" && value !== null ? states.get(value) : undefined;
  if (state === undefined) throw new TypeError(`Cannot ${what}: an actor handle is needed: received ${describeValue(value)}`);
  return state;
}

/**
 * Returns the id of the actor behind a handle.
 *
 * @param action for the message: "Cannot <action>: an actor handle is needed"
 * @throws TypeError unless given a handle
 */
export function actorIdOf(handle: unknown, action: string): string {
  return requireHandle(handle, action).client.resolved.id;
}

/** A handle for an actor that this process creates: the actor is held until it is disposed of. */
export function createdHandle(runtime: Runtime, client: ActorClient, face: ActorInterface): object {
  return newHandle({ client, interface: face, entry: runtime.actors.held.hold(client), runtime });
}

/** A handle that came from elsewhere; the hold for it has been received. */
export function receivedHandle(runtime: Runtime, client: ActorClient, face: ActorInterface): object {
  return anotherHandle({ client, interface: face, entry: runtime.actors.held.entryOf(client.id), runtime });
}

/** Makes another handle of an actor whose entry this process has. */
export function anotherHandle(state: ActorHandleState): object {
  const handle = newHandle(state);
  state.runtime.table.trackFresh(state.entry, handle);
  return handle;
}

function newHandle(state: ActorHandleState): object {
  if (state.interface.allowOutOfOrderExecution) state.client.isUnordered = true;
  const handle = Object.create(prototypeFor(state)) as object;
  states.set(handle, state);
  return handle;
}

function dispose(handle: object): void {
  const state = states.get(handle);
  if (state === undefined) return;
  const { runtime, client, entry } = state;
  insideLibrary(() => {
    if (!runtime.actors.held.letGo(client)) runtime.table.disposeHandle(entry, handle);
  });
}

const prototypes = new Map<string, object>();
/** Prototypes by interface, because handles of one actor mostly share one interface object. */
const prototypesOf = new WeakMap<ActorInterface, object>();

/** Returns the prototype of a list of methods, so that a handle costs one object. */
function prototypeFor(state: ActorHandleState): object {
  let prototype = prototypesOf.get(state.interface);
  if (prototype === undefined) {
    prototype = prototypeOfMethods(state);
    prototypesOf.set(state.interface, prototype);
  }
  return prototype;
}

function prototypeOfMethods(state: ActorHandleState): object {
  const { className, methods, isOpen } = state.interface;
  const key = JSON.stringify([className, isOpen, Object.entries(methods).map(([name, { concurrencyGroup }]) => [name, concurrencyGroup])]);
  let prototype = prototypes.get(key);
  if (prototype === undefined) {
    prototype = Object.create(isOpen ? openMethods(className) : unknownMethods(className, Object.keys(methods))) as object;
    for (const [method, { concurrencyGroup }] of Object.entries(methods)) {
      const target = methodTarget(state.interface, method, concurrencyGroup as string | undefined);
      const cached = new WeakMap<object, object>();
      Object.defineProperty(prototype, method, {
        enumerable: true,
        get(this: object): object {
          let bound = cached.get(this);
          if (bound === undefined) {
            bound = makeMethod(this, target, undefined);
            cached.set(this, bound);
          }
          return bound;
        },
      });
    }
    Object.defineProperties(prototype, {
      [Symbol.dispose]: {
        value(this: object): void {
          dispose(this);
        },
      },
      [Symbol.toStringTag]: { value: "ActorHandle" },
      [Symbol.for("nodejs.util.inspect.custom")]: {
        value(this: object): string {
          const own = states.get(this);
          return own === undefined ? "ActorHandle" : `ActorHandle(${own.interface.className}, ${own.client.id})`;
        },
      },
    });
    prototypes.set(key, prototype);
  }
  return prototype;
}

/** For an actor whose methods are known to itself alone: each name is a method at its first use. */
function openMethods(className: string): object {
  const cached = new WeakMap<object, Map<string, object>>();
  return new Proxy(Object.create(null) as object, {
    get: (_target, name, handle: object) => {
      if (typeof name === "symbol" || isNoMethod(name) || !states.has(handle)) return undefined;
      const known = cached.get(handle) ?? new Map<string, object>();
      cached.set(handle, known);
      const method = known.get(name) ?? makeMethod(handle, methodTarget({ className, isOpen: true }, name, undefined), undefined);
      known.set(name, method);
      return method;
    },
  });
}

function makeMethod(handle: object, target: CallTarget, options: ResolvedTaskOptions | undefined): object {
  const state = states.get(handle) as ActorHandleState;
  const resolved = options ?? methodDefaults(state.interface, target.id);
  const { maxPendingCalls } = state.interface;
  const submit = (...args: unknown[]): unknown => {
    // The handle is held by its methods: it is not collected while one of them is in use.
    void handle;
    requireSessionOf(state.runtime, target.name);
    if (maxPendingCalls >= 0) refuseBeyond(maxPendingCalls, state.client, target.name);
    return state.runtime.calls.callActor(state.client, target, args, resolved);
  };
  const calledDirectly = (): never => {
    throw new TypeError(
      `Cannot call ${target.name} directly: it is a method of an actor, which runs in a process of its own: use .${target.id}.remote()`,
    );
  };
  return defineMembers(calledDirectly, {
    remote: submit,
    bind: (...args: unknown[]): object => {
      const { name, id: method } = target;
      return bindNode({
        kind: "method",
        name,
        isOfPython: target.isOpen === true,
        numReturns: resolved.numReturns,
        args,
        submit,
        actor: new GraphActorOfClient(state.client, state.runtime),
        method,
      });
    },
    options: (more: Record<string, unknown>): object => {
      const { groups, methods, maxTaskRetries } = state.interface;
      const streams = methods[target.id]?.["numReturns"] === "streaming";
      const given = streams ? generatorOptions(more, target.name) : more;
      const next = resolveMethodOptions(given, { maxRetries: maxTaskRetries, base: resolved });
      if (next.group === target.group) return makeMethod(handle, target, next);
      requireGroup(next.group as string, groups, target.name);
      return makeMethod(handle, methodTarget(state.interface, target.id, next.group), next);
    },
  });
}

/** The default group goes unnamed: most calls are in it. */
function methodTarget(
  { className, isOpen }: Pick<ActorInterface, "className" | "isOpen">,
  method: string,
  group: string | undefined,
): CallTarget {
  const named = group === DEFAULT_GROUP ? undefined : group;
  return { kind: "method", id: method, name: `${className}.${method}`, group: named, isOpen, meanMs: 0 };
}

function refuseBeyond(maxPendingCalls: number, client: ActorClient, call: string): void {
  const pending = client.resolved.pendingCount;
  if (pending < maxPendingCalls) return;
  throw new PendingCallsLimitExceededError(`Cannot call ${call}: ${pending} calls of this process to the actor are unanswered`, {
    reason: `maxPendingCalls is ${maxPendingCalls}`,
    hint: "Await some of them first, or raise maxPendingCalls.",
    details: { pending, maxPendingCalls },
  });
}
