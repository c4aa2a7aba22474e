/**
 * Handles of deployments: `handle.method.remote(...)` chooses a replica and calls it.
 *
 * A call inherits the facts of the request that makes it: id, model, session and remaining time. A failed call is tried on another replica if the replica was
 * full, if it died before the call had begun, and in any case if the method is declared idempotent. A handle is a name and travels as one; it uses the router of
 * the process that calls.
 */
import {
  ActorDiedError,
  ActorUnavailableError,
  cancel,
  getRuntimeContext,
  type ObjectRef,
  TaskCancelledError,
  TaskTimeoutError,
} from "../../core/index.ts";
import { callCancelled, custom, readOptions, registerSerializer, text, timeLimit } from "../../core/internal.ts";
import { RequestCancelledError } from "../errors.ts";
import { CALL_ATTEMPTS_MAX } from "../limits.ts";
import { type CallMeta, ReplicaBusyError } from "../replica/replica-calls.ts";
import { currentRequest } from "../replica/context/request-context.ts";
import type { DeploymentRouter } from "../routing/deployment-router.ts";
import type { RequestToRoute } from "../routing/request-router.ts";
import { sessionHeaders, sessionOf } from "../routing/sessions.ts";
import { isLossOf } from "../routing/replica-loss.ts";
import { actorIdKnown, actorOf, processRouters } from "../routing/process-routers.ts";
import type { RoutedReplica } from "../routing/replica-set.ts";
import { outgoingTrace } from "../tracing.ts";
import { type CallInProgress, callBehind, DeploymentResponse, DeploymentResponseGenerator } from "./deployment-response.ts";
import type { HandleOptions, HandleOptionsInput } from "./handle-types.ts";
import { withAnswers } from "./nested-responses.ts";
import { nameCall } from "./shown-error.ts";

/** The state of a handle; all of it is serialized. */
interface HandleState {
  readonly app: string;
  readonly deployment: string;
  /** Methods that are generators. */
  readonly streaming: readonly string[];
  readonly options: HandleOptions;
}

interface ReplicaMethod {
  remote(meta: CallMeta, ...args: unknown[]): ObjectRef<unknown>;
  options(more: object): ReplicaMethod;
}

interface ReplicaMethods {
  readonly call: ReplicaMethod;
  readonly callInTurn: ReplicaMethod;
  readonly stream: {
    remote(meta: CallMeta, ...args: unknown[]): AsyncIterableIterator<unknown>;
    options(more: object): ReplicaMethods["stream"];
  };
}

const OPTIONS = {
  of: "a deployment's handle",
  otherNames: {
    multiplexed_model_id: "it is multiplexedModelId",
    session_id: "it is sessionId",
    method_name: "use handle.method.remote()",
  },
  options: {
    stream: custom<boolean | undefined>("true or false is needed", undefined, (value) =>
      typeof value === "boolean" ? "ok" : "wrong type",
    ),
    multiplexedModelId: text(undefined),
    sessionId: text(undefined),
    timeoutMs: timeLimit(),
    signal: custom<AbortSignal | undefined>("an AbortSignal is needed", undefined, (value) =>
      value instanceof AbortSignal ? "ok" : "wrong type",
    ),
  },
};

/** Why a call was not sent in time, and the remedy. */
interface Lateness {
  readonly reason: string;
  readonly hint: string;
}
const NOT_TAKEN: Lateness = { reason: "no replica took it in time", hint: "Add replicas, or raise timeoutMs." };
const NOT_ARRIVED: Lateness = {
  reason: "the responses among its arguments were not there in time",
  hint: "Raise timeoutMs: it covers the calls that the arguments come from.",
};

const NOTHING = (): void => {};

const states = new WeakMap<object, HandleState>();
const NOT_METHODS: ReadonlySet<string> = new Set([
  "then",
  "catch",
  "finally",
  "toJSON",
  "asymmetricMatch",
  "$$typeof",
  "nodeType",
  "tagName",
  "hasAttribute",
  "_isMockFunction",
]);

/** The class of handles, for `instanceof` and for the types. */
export class DeploymentHandle {
  /** @internal handles are made by `bind`, `serve.run` and `getDeploymentHandle` */
  private constructor() {}
}

export function newHandle(state: HandleState): DeploymentHandle {
  const methods = new Map<string, object>();
  const bare = Object.create(DeploymentHandle.prototype) as DeploymentHandle;
  const handle = new Proxy(bare, {
    get: (target, name) => {
      if (typeof name === "symbol") return name === Symbol.toStringTag ? "DeploymentHandle" : Reflect.get(target, name);
      if (NOT_METHODS.has(name) || name in Object.prototype) return Reflect.get(target, name);
      let method = methods.get(name);
      if (method === undefined) {
        method = memberOf(state, name);
        methods.set(name, method);
      }
      return method;
    },
  });
  states.set(handle, state);
  return handle;
}

registerSerializer(DeploymentHandle as unknown as new () => DeploymentHandle, {
  serialize: (handle) => {
    const { options, ...rest } = states.get(handle) as HandleState;
    const { signal: _stays, ...travelling } = options;
    return { ...rest, options: travelling };
  },
  deserialize: adoptHandle,
});

/** Exported for processes that read a handle. */
export function adoptHandle(state: unknown): DeploymentHandle {
  return newHandle(state as HandleState);
}

/** `handle.remote`, `handle.options`, `handle.broadcast`, or a method. */
function memberOf(state: HandleState, name: string): object {
  if (name === "remote") return (...args: unknown[]) => callOf(state, "", args);
  if (name === "options")
    return (more: HandleOptionsInput) => newHandle({ ...state, options: { ...state.options, ...readHandleOptions(more) } });
  if (name === "broadcast") return (method: string, ...args: unknown[]) => new DeploymentCall(state, method, args).everywhere();
  return methodOf(state, name);
}

function methodOf(state: HandleState, name: string): object {
  return {
    remote: (...args: unknown[]) => callOf(state, name, args),
    options: (more: HandleOptionsInput) => methodOf({ ...state, options: { ...state.options, ...readHandleOptions(more) } }, name),
  };
}

/** Reads options of a handle. @throws TypeError, RangeError that name the option */
export function readHandleOptions(more: HandleOptionsInput): HandleOptions {
  const read = readOptions(more, OPTIONS);
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined)) as HandleOptions;
}

function callOf(state: HandleState, method: string, args: readonly unknown[]): object {
  const call = new DeploymentCall(state, method, args);
  const streams = state.options.stream ?? state.streaming.includes(method);
  if (!streams) return new DeploymentResponse(call.unary());
  return new DeploymentResponseGenerator(call.items(), () => call.cancel());
}

/** A call of a deployment, with its attempts on several replicas. */
class DeploymentCall {
  #router: DeploymentRouter;
  readonly #method: string;
  #args: readonly unknown[];
  readonly #meta: CallMeta;
  readonly #request: RequestToRoute;
  readonly #options: HandleOptions;
  readonly #untilMs: number | undefined;
  /** Deadline of a stream. A request's own deadline ends with the head of the answer, and streams may outlive that. */
  readonly #streamUntilMs: number | undefined;
  /** Replicas that a failed attempt of a stream has given back. */
  readonly #givenBack = new Set<RoutedReplica>();
  #ref: ObjectRef<unknown> | undefined;
  #stop: ((reason: Error) => void) | undefined;
  #cancelled: Error | undefined;
  /** The call ends with the request in which it was made. One that is made behind the end, to clean up, does not. */
  readonly #isPart: boolean;

  constructor({ app, deployment, options }: HandleState, method: string, args: readonly unknown[]) {
    this.#router = processRouters().router(app, deployment);
    this.#router.called();
    this.#method = method;
    this.#args = args;
    this.#options = options;
    const request = currentRequest();
    this.#isPart = request !== undefined && callCancelled() === undefined;
    const own = options.timeoutMs === undefined ? undefined : Date.now() + options.timeoutMs;
    this.#streamUntilMs = own;
    const deadline = request?.deadlineMs;
    this.#untilMs = own === undefined ? deadline : deadline === undefined ? own : Math.min(own, deadline);
    const modelId = options.multiplexedModelId ?? request?.modelId ?? "";
    const sessionId = options.sessionId ?? (request === undefined ? "" : sessionOf(request.headers));
    this.#request = { modelId, sessionId, method };
    this.#meta = [method, request?.requestId ?? "", modelId, 0, ...outgoingTrace(request?.headers), ...sessionHeaders(sessionId)];
  }

  cancel(cause?: unknown): void {
    if (this.#cancelled !== undefined) return;
    const reason = "it was cancelled";
    this.#cancelled = new RequestCancelledError(`Call ${this.#name} was cancelled`, { reason, cause });
    this.#stop?.(this.#cancelled);
    if (this.#ref !== undefined) cancel(this.#ref);
  }

  /** Why nothing is to be sent any more. To be asked after each wait: the core cancels calls that it knows, and this one may be none yet. */
  get #stopped(): Error | undefined {
    return this.#cancelled ?? (this.#isPart ? callCancelled() : undefined);
  }

  unary(): CallInProgress<unknown> {
    const unfollow = this.#followSignal();
    const value = this.#run();
    // The caller sees a failure by awaiting the response, maybe later: until then it is not an unhandled rejection.
    value.then(unfollow, unfollow);
    return {
      value,
      reference: () => value.then(() => ({ ref: this.#ref as ObjectRef<unknown> })),
      cancel: () => this.cancel(),
    };
  }

  async *items(): AsyncGenerator<unknown, void, undefined> {
    const unfollow = this.#followSignal();
    try {
      const args = await this.#sendableArguments();
      for (let attempt = 1; ; attempt += 1) {
        const replica = await this.#replica();
        let hasBegun = false;
        try {
          const { stream } = (await actorOf(replica)) as unknown as ReplicaMethods;
          this.#requireWanted();
          const items = this.#limited(stream, this.#streamUntilMs).remote(this.#metaNow(this.#streamUntilMs), ...args);
          this.#stop = () => void items.return?.();
          for await (const item of items) {
            hasBegun = true;
            yield item;
          }
          if (this.#cancelled !== undefined) throw this.#cancelled;
          return;
        } catch (error) {
          const isAgain = this.#failed(replica, error, attempt) && !hasBegun;
          if (!isAgain) throw this.#shown(error);
        } finally {
          // A failure has given it back already.
          if (!this.#givenBack.delete(replica)) this.#router.ended(replica);
        }
      }
    } finally {
      unfollow();
    }
  }

  /** Calls every replica. One that is gone before it has begun was none of them; one that is full takes the call as soon as it has room. */
  async everywhere(): Promise<unknown[]> {
    const unfollow = this.#followSignal();
    try {
      return await this.#answersOfAll(await this.#sendableArguments());
    } finally {
      unfollow();
    }
  }

  async #answersOfAll(args: readonly unknown[]): Promise<unknown[]> {
    for (;;) {
      this.#followRouter();
      const replicas = await this.#within(NOT_TAKEN, (signal) => this.#router.everyReplica(signal));
      const refs = new Set<ObjectRef<unknown>>();
      this.#stop = () => refs.forEach((ref) => cancel(ref));
      const answers = await Promise.all(replicas.map((replica) => this.#sendInTurn(replica, args, refs)));
      if (answers.some((answer) => answer !== undefined)) return answers.flatMap((answer) => answer ?? []);
    }
  }

  /** @returns the answer in a box; undefined where the replica is gone and has not begun */
  async #sendInTurn(
    replica: RoutedReplica,
    args: readonly unknown[],
    refs: Set<ObjectRef<unknown>>,
  ): Promise<[answer: unknown] | undefined> {
    let answer: unknown;
    try {
      const { callInTurn } = (await actorOf(replica)) as unknown as ReplicaMethods;
      this.#requireWanted();
      const ref = this.#limited(callInTurn, this.#untilMs).remote(this.#metaNow(this.#untilMs), ...args);
      refs.add(ref);
      answer = await ref;
    } catch (error) {
      if (!this.#failed(replica, error, 1)) throw this.#shown(error);
      return undefined;
    }
    this.#router.ended(replica);
    return [answer];
  }

  /** Follows the caller's signal. @returns a function that stops: a signal may outlive its calls by far, and would keep them and their arguments */
  #followSignal(): () => void {
    const { signal } = this.#options;
    if (signal === undefined) return NOTHING;
    const cancelled = (): void => this.cancel(signal.reason);
    if (signal.aborted) cancelled();
    signal.addEventListener("abort", cancelled, { once: true });
    return () => signal.removeEventListener("abort", cancelled);
  }

  get #name(): string {
    return `${this.#router.deployment}.${this.#method === "" ? "remote" : this.#method}`;
  }

  /** Runs the call. The hot path makes no promise before the replica is called. */
  #run(): Promise<unknown> {
    if (this.#cancelled !== undefined || this.#args.some(isResponse)) return this.#runAgain(1);
    const replica = this.#untilMs === undefined && this.#router.hasRoom ? this.#router.assign(this.#request) : this.#replica();
    if (replica instanceof Promise) return this.#runOn(replica, 1);
    const actor = actorOf(replica);
    return actor instanceof Promise ? this.#runOn(replica, 1) : this.#send(replica, actor as unknown as ReplicaMethods, 1);
  }

  /** The arguments come first: a replica that was chosen before would keep a place free for them, and be blamed for their failures. */
  async #runAgain(attempt: number): Promise<unknown> {
    await this.#argumentsArrived();
    return this.#runOn(this.#replica(), attempt);
  }

  async #runOn(chosen: RoutedReplica | Promise<RoutedReplica>, attempt: number): Promise<unknown> {
    const replica = await chosen;
    let actor: unknown;
    try {
      actor = await actorOf(replica);
    } catch (error) {
      if (!this.#failed(replica, error, attempt)) throw this.#shown(error);
      return this.#runAgain(attempt + 1);
    }
    return this.#send(replica, actor as ReplicaMethods, attempt);
  }

  #send(replica: RoutedReplica, { call }: ReplicaMethods, attempt: number): Promise<unknown> {
    const stopped = this.#stopped;
    if (stopped !== undefined) {
      this.#router.ended(replica);
      return Promise.reject(stopped);
    }
    let ref: ObjectRef<unknown>;
    try {
      ref = this.#limited(call, this.#untilMs).remote(this.#metaNow(this.#untilMs), ...this.#args);
    } catch (error) {
      // An argument that cannot be sent.
      this.#router.ended(replica);
      return this.#sendAnswered(error, attempt);
    }
    this.#ref = ref;
    return ref.then(
      (value) => {
        this.#router.ended(replica);
        return value;
      },
      (error: unknown) => {
        if (!this.#failed(replica, error, attempt)) throw this.#shown(error);
        return this.#runAgain(attempt + 1);
      },
    ) as Promise<unknown>;
  }

  /** Handles arguments that could not be sent, which may contain responses. */
  async #sendAnswered(error: unknown, attempt: number): Promise<unknown> {
    const answered = withAnswers(this.#args);
    if (answered === undefined) throw error;
    this.#args = await this.#arrival(answered);
    return this.#runAgain(attempt);
  }

  /** Gives the replica back. @returns whether the call is to be tried again */
  #failed(replica: RoutedReplica, error: unknown, attempt: number): boolean {
    this.#givenBack.add(replica);
    const stopped = this.#stopped;
    if (stopped !== undefined && error === stopped) {
      this.#router.ended(replica);
      return false;
    }
    if (error instanceof ReplicaBusyError) {
      this.#router.refused(replica, error.ongoing);
      return stopped === undefined;
    }
    const isLost = isLossOf(error, { actorName: replica.info.actorName, actorId: actorIdKnown(replica) });
    if (!isLost) {
      this.#router.ended(replica);
      return false;
    }
    this.#router.lost(replica);
    const hasBegun = error instanceof ActorDiedError || error instanceof ActorUnavailableError ? error.details?.["sent"] !== false : false;
    if (stopped !== undefined || attempt >= (hasBegun ? CALL_ATTEMPTS_MAX : this.#router.attemptsMax)) return false;
    return !hasBegun || this.#router.routes?.idempotentMethods.includes(this.#method) === true;
  }

  #shown(error: unknown): unknown {
    if (error instanceof TaskCancelledError && this.#cancelled !== undefined) return this.#cancelled;
    // A call that was refused by a full replica and is not tried again was cancelled meanwhile.
    if (error instanceof ReplicaBusyError) return this.#stopped ?? error;
    return nameCall(error, this.#name);
  }

  #replica(): Promise<RoutedReplica> {
    this.#followRouter();
    return this.#within(NOT_TAKEN, (signal) => this.#router.assign(this.#request, signal));
  }

  /** The deployment may have been deleted, and run again, since the call was made. The call is at no replica. */
  #followRouter(): void {
    this.#router = processRouters().router(this.#router.app, this.#router.deployment);
  }

  /** Replaces responses among the arguments by references, so that values go from replica to replica. @throws the error of a failed response */
  async #argumentsArrived(): Promise<void> {
    if (!this.#args.some(isResponse)) return;
    const boxes = await this.#arrival(
      Promise.all(this.#args.map(async (arg): Promise<[passed: unknown]> => (isResponse(arg) ? referenceOf(arg) : [arg]))),
    );
    this.#args = boxes.map(([passed]) => passed);
  }

  /** Also with values in place of responses inside of arguments. */
  async #sendableArguments(): Promise<readonly unknown[]> {
    await this.#argumentsArrived();
    const answered = withAnswers(this.#args);
    return answered === undefined ? this.#args : await this.#arrival(answered);
  }

  #arrival<T>(coming: Promise<T>): Promise<T> {
    // A call that is cancelled already waits for nothing.
    coming.catch(NOTHING);
    return this.#within(NOT_ARRIVED, (signal) => Promise.race([coming, abortOf(signal)]));
  }

  /** Waits no longer than the call may take, and until it is cancelled. @param late why it was not sent in time */
  async #within<T>(late: Lateness, wait: (signal: AbortSignal) => T | Promise<T>): Promise<T> {
    const stop = new AbortController();
    this.#stop = (reason) => stop.abort(reason);
    this.#requireWanted();
    const leftMs = leftUntil(this.#untilMs);
    // A driver that waits has not come to its end; a promise alone would not hold it.
    const timer = setTimeout(() => stop.abort(this.#late(late)), leftMs ?? 2 ** 31 - 1);
    const outer = this.#isPart ? getRuntimeContext().signal : undefined;
    const cancelled = (): void => stop.abort(outer?.reason);
    outer?.addEventListener("abort", cancelled, { once: true });
    try {
      return await wait(stop.signal);
    } finally {
      clearTimeout(timer);
      outer?.removeEventListener("abort", cancelled);
      this.#stop = undefined;
    }
  }

  #requireWanted(): void {
    const stopped = this.#stopped;
    if (stopped !== undefined) throw stopped;
  }

  #metaNow(untilMs: number | undefined): CallMeta {
    if (untilMs === undefined) return this.#meta;
    const [method, requestId, modelId, , ...headers] = this.#meta;
    return [method, requestId, modelId, Math.max(1, untilMs - Date.now()), ...headers];
  }

  #limited<M extends { options(more: object): M }>(method: M, untilMs: number | undefined): M {
    const timeoutMs = leftUntil(untilMs);
    return timeoutMs === undefined ? method : method.options({ timeoutMs });
  }

  #late({ reason, hint }: Lateness): TaskTimeoutError {
    return new TaskTimeoutError(`Call ${this.#name} failed: ${reason}`, {
      reason,
      hint,
      details: { timeoutMs: this.#options.timeoutMs },
    });
  }
}

function leftUntil(untilMs: number | undefined): number | undefined {
  return untilMs === undefined ? undefined : Math.max(0, untilMs - Date.now());
}

/** Returns a response's reference in an array, because a promise of a bare reference would resolve to its value. */
async function referenceOf(response: DeploymentResponse<unknown>): Promise<[passed: unknown]> {
  return [(await callBehind(response).reference()).ref];
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

function isResponse(value: unknown): value is DeploymentResponse<unknown> {
  return value instanceof DeploymentResponse;
}
