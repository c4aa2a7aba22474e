/**
 * The calls of the programming model, as users import them: `remote`, `get`, `put`, `wait`, actors, and facts of the cluster.
 *
 * Decides what is bad input and says so before anything is sent; the rest is the runtime's. Of an overloaded function `types.ts`
 * has the type and what it promises. A function that returns a promise rejects and does not throw; the others throw at once.
 */
import { actorClassState, generatorMethodsOf, makeActorClass, methodsOf } from "./actors/actor-class.ts";
import { actorHandleState, anotherHandle, requireHandle } from "./actors/actor-handle.ts";
import { GetTimeoutError } from "../runtime/base/errors.ts";
import { describeValue } from "../runtime/base/texts/describe.ts";
import { insideLibrary } from "../runtime/base/library-code.ts";
import { type ActorStateHeader, MESSAGE } from "../runtime/wire/messages.ts";
import { ActorExit } from "../runtime/worker/actors/actor-exit.ts";
import { TERMINATE_METHOD } from "../runtime/worker/actors/reserved-methods.ts";
import { taskContext } from "../runtime/worker/tasks/task-context.ts";
import { askNode, requireRunning, requireRuntime, requireSessionOf } from "./current-runtime.ts";
import { isGeneratorFunction } from "./calls/definitions/generators.ts";
import { entryOf, isObjectRef } from "./objects/object-ref.ts";
import { ANONYMOUS } from "./calls/definitions/function-table.ts";
import { completionOf, isObjectRefGenerator } from "./streams/object-ref-generator.ts";
import { generatorOptions, resolveActorOptions, resolveMethodOptions, resolveTaskOptions } from "./options/options.ts";
import { readOptions } from "./options/option-kinds.ts";
import { ACTORS, CANCEL, GET_ACTOR, KILL, resolveGetOptions, resolveWaitOptions } from "./options/operation-options.ts";
import type { Resources, Why } from "./options/scheduling-types.ts";
import { whyFrom } from "./why/why-reason.ts";
import { makeRemoteFunction, remoteFunctionState } from "./calls/definitions/remote-function.ts";
import { currentContext } from "./context/runtime-context.ts";
import type { ActorInfo, ActorsOptions, NodeInfo, RuntimeContext } from "./types/cluster-types.ts";
import type {
  ActorHandle,
  AnyActorHandle,
  AnyRef,
  CancelOptions,
  GetActorOptions,
  GetFunction,
  GetOptions,
  KillOptions,
  PutFunction,
  RemoteType,
  WaitOptions,
} from "./types/types.ts";
import type { ObjectRefGenerator } from "./streams/stream-types.ts";
import { within } from "./objects/waiting-limits.ts";

/** Whether it is written as a class; a function that `new` takes, too, is none. */
export function isClass(value: (...args: never[]) => unknown): boolean {
  // A class has a prototype that cannot be replaced; a function's can.
  return (
    Object.getOwnPropertyDescriptor(value, "prototype")?.writable === false && /^class\b|^@/.test(Function.prototype.toString.call(value))
  );
}

/**
 * Makes a function a task, or a class an actor class.
 *
 * @throws TypeError for anything else, and for options that do not exist
 */
export const remote: RemoteType = ((target: unknown, options: object = {}): unknown => {
  if (typeof target !== "function")
    throw new TypeError(`Cannot make a remote function: a function or a class is needed: received ${describeValue(target)}`);
  if (remoteFunctionState(target) !== undefined || actorClassState(target) !== undefined) {
    throw new TypeError(`Cannot make ${target.name} remote: it is remote already: use .options() for other options`);
  }
  const name = target.name === "" ? ANONYMOUS : target.name;
  if (isClass(target as (...args: never[]) => unknown)) {
    const source = target as unknown as new (...args: never[]) => object;
    const methods = { methods: methodsOf(source), streaming: generatorMethodsOf(source) };
    return makeActorClass({ source, id: undefined, name, ...methods, options: resolveActorOptions(options) });
  }
  const resolved = resolveTaskOptions(isGeneratorFunction(target) ? generatorOptions(options, name) : options);
  return makeRemoteFunction({ source: target as (...args: never[]) => unknown, id: undefined, name, options: resolved });
}) as RemoteType;

const READ_A_STREAM = "it is many values: read them with for await (const value of stream), or their references with stream.refs()";

/**
 * The value of a ref, or the values of several in order. The first failure rejects at once.
 *
 * @throws GetTimeoutError after `timeoutMs`; TaskError and the other failures of the task that makes it
 */
export const get: GetFunction = ((target: unknown, options?: GetOptions): Promise<unknown> => {
  try {
    const limits = resolveGetOptions(options);
    if (isObjectRef(target)) return requireRunning().getOne(target, limits);
    if (isObjectRefGenerator(target)) throw new TypeError(`Cannot get a stream: ${READ_A_STREAM}`);
    if (!Array.isArray(target))
      throw new TypeError(`Cannot get: an ObjectRef or an array of them is needed: received ${describeValue(target)}`);
    const wrong = target.findIndex((element) => !isObjectRef(element));
    if (isObjectRefGenerator(target[wrong])) throw new TypeError(`Cannot get element ${wrong}, a stream: ${READ_A_STREAM}`);
    if (wrong >= 0) throw new TypeError(`Cannot get: element ${wrong} is not an ObjectRef: received ${describeValue(target[wrong])}`);
    return (target.length === 0 ? requireRuntime() : requireRunning()).getMany(target as object[], limits);
  } catch (error) {
    // A function that returns a promise rejects, and does not throw; an async function would cost the hot path.
    return Promise.reject(error);
  }
}) as GetFunction;

/**
 * Stores a value and returns its ref, synchronously. From 64 KB on it lies in shared memory.
 *
 * @throws TypeError for a ref or a promise; SerializationError for what cannot be sent; ObjectStoreFullError where there is no room
 */
export const put: PutFunction = ((value: unknown): unknown => {
  if (isObjectRef(value))
    throw new TypeError("Cannot put an ObjectRef: it is a reference already: pass it on, or put an array that holds it");
  if (value !== null && typeof value === "object" && typeof (value as { then?: unknown }).then === "function") {
    throw new TypeError("Cannot put a promise: await it first");
  }
  if (isObjectRefGenerator(value)) throw new TypeError(`Cannot put a stream: ${READ_A_STREAM}`);
  return requireRuntime().put(value);
}) as PutFunction;

/**
 * Waits until `numReturns` of the references are ready or `timeoutMs` is over, and splits them; both parts keep their order. A failed
 * task is ready, and so is a stream whose next item or end has come.
 *
 * @throws RangeError when `numReturns` is more than there are references, or one is given twice.
 * @example
 * const [ready, pending] = await wait(refs, { numReturns: 2, timeoutMs: 1000 });
 */
export async function wait<R extends AnyRef | ObjectRefGenerator<unknown>>(
  refs: readonly R[],
  options?: WaitOptions,
): Promise<[ready: R[], pending: R[]]> {
  if (!Array.isArray(refs)) throw new TypeError(`Cannot wait: an array of ObjectRefs is needed: received ${describeValue(refs)}`);
  const resolved = resolveWaitOptions(options, refs.length);
  return (refs.length === 0 ? requireRuntime() : requireRunning()).wait(refs, resolved);
}

/**
 * The handle of a named actor; the type is the caller's word.
 *
 * @throws ActorDiedError when no living actor has the name.
 * @example
 * const counter = await getActor<Counter>("counter");
 */
export async function getActor<I>(name: string, options?: GetActorOptions): Promise<ActorHandle<I>> {
  if (typeof name !== "string" || name === "")
    throw new TypeError(`Cannot look up an actor: a name is needed: received ${describeValue(name)}`);
  // A name that is known is answered from memory: reading no options would take as long.
  const namespace = options === undefined ? undefined : readOptions(options, GET_ACTOR).namespace;
  const runtime = requireRuntime();
  const find = (): Promise<object> =>
    runtime.actors.named.find(name, namespace ?? runtime.options.namespace, ({ client, interface: face, entry }) =>
      anotherHandle({ client, interface: face, entry, runtime }),
    );
  const handle = await insideLibrary(find);
  return handle as ActorHandle<I>;
}

/** Resolves when the actor's constructor has run. @throws ActorDiedError when it threw, with the error as its cause. @throws GetTimeoutError */
export async function ready(actor: AnyActorHandle, options?: GetOptions): Promise<void> {
  const state = requireHandle(actor, "wait for an actor");
  requireSessionOf(state.runtime, `${state.interface.className}.constructor`);
  const { timeoutMs, signal } = resolveGetOptions(options);
  const started = state.client.ready().catch((cause: ActorStateHeader | Error) => {
    throw state.runtime.actors.failureOf(state.client.resolved, cause);
  });
  const isReady = await state.runtime.holdWhile(
    within(
      started.then(() => true),
      { timeoutMs, signal },
    ),
  );
  if (isReady === undefined) {
    throw new GetTimeoutError(`Cannot wait for actor ${state.interface.className}: its constructor had not ended after ${timeoutMs} ms`, {
      reason: "the time limit was reached",
      hint: "The actor goes on starting; raise timeoutMs, or ask for fewer resources.",
    });
  }
}

/** Ends an actor after the calls that it has already received. Resolves when its process is gone. */
export async function terminate(actor: AnyActorHandle): Promise<void> {
  const state = requireHandle(actor, "terminate an actor");
  state.runtime.actors.named.forget(state.client.resolved.id);
  // With its session it has ended.
  if (state.runtime.isClosed) return;
  const target = {
    kind: "method" as const,
    id: TERMINATE_METHOD,
    name: `${state.interface.className}.terminate`,
    group: undefined,
    meanMs: 0,
  };
  const ended = state.runtime.holdWhile(state.client.ended());
  const ref = state.runtime.calls.callActor(state.client, target, [], resolveMethodOptions({})) as PromiseLike<unknown>;
  // The actor may have died already, or die during the call: in each case it has ended.
  await Promise.allSettled([ref]);
  await ended;
}

/**
 * Cancels the call behind a reference or a stream: its references fail with `TaskCancelledError` at once, and it is not retried. A call that has ended is unchanged.
 *
 * A call that has not begun never runs. A running call sees the `signal` of its `getRuntimeContext()` abort, and its waits for references reject. A task that
 * computes without a pause is interrupted, its synchronous `finally` blocks do not run, and no later task runs in that process. A task that has not ended after 3
 * seconds loses its worker process. A call of an actor is only informed: a method that computes without a pause runs to its end and blocks the actor until then.
 * `kill(actor, { noRestart: false })` ends it and starts the actor again, if its `maxRestarts` allows that.
 *
 * @throws TypeError unless given a call's reference, and for `force` with a call of an actor: `kill` ends actors.
 * @example
 * const ref = search.remote(data);
 * cancel(ref);
 * await ref; // TaskCancelledError
 */
export function cancel(ref: AnyRef | ObjectRefGenerator<unknown>, options?: CancelOptions): void {
  if (!isObjectRef(ref) && !isObjectRefGenerator(ref)) {
    const remedy =
      typeof ref === "object" && ref !== null && actorHandleState(ref) !== undefined ? ": use kill or terminate to end an actor" : "";
    throw new TypeError(`Cannot cancel: an ObjectRef is needed${remedy}: received ${describeValue(ref)}`);
  }
  const manner = readOptions(options, CANCEL);
  const runtime = requireRuntime();
  const entry = isObjectRef(ref) ? entryOf(ref) : completionOf(ref);
  runtime.table.requireOfSession(entry);
  insideLibrary(() => runtime.cancellation.cancelEntry(entry, manner));
}

/** Ends an actor at once, with `noRestart: false` to let it restart. Its pending calls fail with ActorDiedError. Resolves when its process is gone. */
export async function kill(actor: AnyActorHandle, options?: KillOptions): Promise<void> {
  const { client, runtime } = requireHandle(actor, "kill an actor");
  const { noRestart } = readOptions(options, KILL);
  if (runtime.isClosed) return;
  runtime.actors.named.forget(client.resolved.id);
  runtime.daemon.send(MESSAGE.ACTOR_KILL, { actorId: client.resolved.id, restart: !noRestart });
  await runtime.holdWhile(noRestart ? client.ended() : client.left());
}

/**
 * Ends the present actor from inside one of its methods, and does not return. This call and all waiting calls fail with ActorDiedError; the actor is not restarted.
 * Its `Symbol.asyncDispose` or `Symbol.dispose` method runs first.
 *
 * @throws TypeError outside of actors
 */
export function exitActor(): never {
  const context = taskContext.current;
  const exit = context?.place.exitActor;
  if (context === undefined || exit === undefined)
    throw new TypeError(
      "Cannot exit the actor: exitActor() is for methods of actors, and this code runs in none: return, or throw, instead",
    );
  exit(context);
  throw new ActorExit("exitActor() was called: let this pass, as the actor ends");
}

/**
 * The actors of the session, in the order of their creation.
 *
 * @throws TypeError for an unknown option or a value of a wrong type.
 * @example
 * for (const { className, pid, phase } of await actors()) console.log(className, pid, phase);
 */
export async function actors(options?: ActorsOptions): Promise<ActorInfo[]> {
  const { namespace, includeDead } = readOptions(options, ACTORS);
  const { header } = await askNode(MESSAGE.ACTOR_LIST, { namespace, includeDead });
  return header.map(({ isDetached, ...info }) => ({
    ...info,
    lifetime: isDetached ? "detached" : "non_detached",
    restarts: info.incarnation,
  }));
}

/**
 * Explains why the call behind a ref waits: for arguments, for resources and their holders, for a worker, for its turn in an actor, or for further refs; and finds
 * cycles.
 *
 * @throws TypeError unless given a ref
 * @example
 * console.log(String(await why(ref))); // task train waits for resources: it needs 1 GPU, of which 0 is free; held by actor Model (1 GPU)
 */
export async function why(ref: AnyRef): Promise<Why> {
  if (!isObjectRef(ref)) throw new TypeError(`Cannot tell why: an ObjectRef is needed: received ${describeValue(ref)}`);
  const runtime = requireRuntime();
  return whyFrom(await runtime.holdWhile(runtime.why.explain(entryOf(ref))));
}

/** The nodes of the cluster. */
export async function nodes(): Promise<NodeInfo[]> {
  return (await askNode(MESSAGE.NODES, undefined)).header;
}

/** All logical resources of the cluster, by name; `object_store_memory` is what the object store may have in shared memory, in bytes. */
export async function clusterResources(): Promise<Resources> {
  const { total, store } = (await askNode(MESSAGE.RESOURCES, undefined)).header;
  return { ...total, object_store_memory: store.quotaBytes };
}

/** What of the logical resources is free now, by name; those that are used up are 0. */
export async function availableResources(): Promise<Resources> {
  const { available, store } = (await askNode(MESSAGE.RESOURCES, undefined)).header;
  return { ...available, object_store_memory: Math.max(0, store.quotaBytes - store.usedBytes) };
}

/** Returns the identity and place of the present code: the driver, a task, or an actor. */
export function getRuntimeContext(): RuntimeContext {
  return currentContext();
}
