/**
 * Receives calls from one caller and answers them: where a task or an actor's method runs.
 *
 * Owns, per connection, what the caller has open here. A plain call to a function that is ready, on an idle executor,
 * runs within the callback of its frame, which is the hot path. Calls with refs or large values, with definitions that are still being
 * revived, or on a busy executor go through a job. Every call is answered exactly once, with its values or its error.
 */
import { copyBytes } from "../base/collections/bytes.ts";
import { follow, thenOf } from "../base/thenable.ts";
import type { ActorId, ProcessId } from "../base/ids.ts";
import { InFlightBorrows } from "../objects/references/in-flight-borrows.ts";
import type { CallOutcome } from "../extension/extension.ts";
import { ArgumentsLost, type LostObject } from "../objects/lost-object.ts";
import type { ObjectTable } from "../objects/object-table.ts";
import { inBandPayload, type Payload } from "../objects/payload.ts";
import type { ValueCodec } from "../objects/value-codec.ts";
import type { Connection } from "../rpc/connection.ts";
import { endHeapGrowths } from "../os/engine/garbage.ts";
import { type MarkedCall, markOfFirst } from "../os/processes/memory/interrupt-slot.ts";
import { type Frame, FRAME_FLAG } from "../wire/frame.ts";
import { EXITED } from "./actors/actor-exit.ts";
import { argumentWait } from "./tasks/argument-waits.ts";
import type { ActorJob } from "./actors/actor-host.ts";
import {
  type AcceleratorIds,
  type ActorLeavingHeader,
  type CallHeader,
  type FirstCallHeader,
  type HelloHeader,
  MESSAGE,
  STREAMING,
  type StreamHeader,
} from "../wire/messages.ts";
import type { WhyCallHeader, WhyHeader, WhyTrail } from "../wire/calls/why-messages.ts";
import type { CallRecorder, RecordedFunction } from "../observe/call-recorder.ts";
import type { CallObservers } from "./calls/call-observers.ts";
import { CallPlaces } from "./calls/call-places.ts";
import { type AnyFunction, type Callee, CallTargets, type CallTargetsOptions, type Method, methodOf } from "./calls/call-targets.ts";
import type { Executor, Job } from "./executor.ts";
import { graphMethod } from "./graphs/graph-loop.ts";
import { GRAPH_METHOD, TERMINATE_METHOD } from "./actors/reserved-methods.ts";
import { StreamServer } from "./streams/stream-server.ts";
import { OpenCalls } from "./calls/open-calls.ts";
import { type ReceivedCall, ReceivedCalls } from "./calls/received-calls.ts";
import { ResultSender } from "./calls/result-sender.ts";
import { TaskContext, taskContext } from "./tasks/task-context.ts";
import { unsentResult } from "./calls/unsent-result.ts";
import { Interruption, type InterruptionGuard, isGuarded, type Measured, measure } from "./tasks/interruption-guard.ts";
import { CallGuard, interruptedError } from "./calls/call-guard.ts";
import { MESSAGES_TO_WORKER } from "../wire/calls/call-messages.ts";
import { readAs } from "../wire/tables/message-table.ts";

interface CallServerOptions extends CallTargetsOptions {
  connection: Connection;
  caller: HelloHeader;
  /** Present for a call that came before its caller has a connection. */
  first: FirstCallHeader | undefined;
  /** The id of this process. */
  processId: ProcessId;
  executor: Executor;
  codec: ValueCodec;
  table: ObjectTable;
  /** The actor ends: by a caller's `terminate`, once the answer is sent, or by its own `exitActor()`. */
  onActorEnd: (leaving: ActorLeavingHeader) => void;
  /** Explains why a received call waits. */
  explain: (context: TaskContext | undefined, trail: WhyTrail) => Promise<WhyHeader>;
  /** Cancels the calls that a call of this process made and that have not ended. */
  cancelChildren: (parent: TaskContext) => void;
  /** Makes synchronous tasks interruptible; absent where code cannot be stopped (in-process mode). */
  guard: InterruptionGuard | undefined;
  observers: CallObservers | undefined;
  /** Records running and ended calls; absent where nobody could read them. */
  recorder: CallRecorder | undefined;
  /** The ancestors of a call that this worker's own runtime made, in this worker, the nearest first. */
  ancestorsOf: (callId: number) => readonly MarkedCall[];
  /** The process can no longer be relied on, and is to be replaced. */
  onUnsafe: () => void;
  /** The code of a task was stopped half way: no other is to begin in this process. */
  onInterrupted: () => void;
  /** A call of a function begins of which this process takes so many and no more; absent where that is not counted. */
  begins: ((id: string, maxCalls: number) => void) | undefined;
}

/** The shape of a plain call: the default of a task. Other shapes come with a full header. */
const DEFAULT_SHAPE = "CPU:10000";
const NO_PAYLOADS: readonly Payload[] = [];
// oxlint-disable-next-line typescript/unbound-method -- applied to the promise at hand
const PROMISE_THEN = Promise.prototype.then;

export class CallServer {
  isRetired = false;
  readonly #options: CallServerOptions;
  readonly #connection: Connection;
  readonly #codec: ValueCodec;
  readonly #executor: Executor;
  readonly #callerId: ProcessId;
  readonly #results: ResultSender;
  readonly #targets: CallTargets;
  readonly #open: OpenCalls;
  /** Tasks that have been received and not answered. */
  #openCalls = 0;
  #lastCallMs: number = performance.now();
  readonly #places: CallPlaces;
  readonly #streams: StreamServer;
  readonly #guard: CallGuard | undefined;
  readonly #observers: CallObservers | undefined;
  readonly #recorder: CallRecorder | undefined;
  /** Number of the caller in the record of calls. */
  readonly #recordCaller: number;
  /** The call from which the caller makes its calls: number of that call's caller in the record, 0 for none, and its call id. */
  #parentCaller = 0;
  #parentId = 0;
  readonly #held: InFlightBorrows;
  readonly received: ReceivedCalls;

  constructor(options: CallServerOptions) {
    this.#options = options;
    this.#connection = options.connection;
    this.#codec = options.codec;
    this.#executor = options.executor;
    this.#targets = new CallTargets(options);
    this.#places = new CallPlaces(options.executor);
    this.#callerId = options.caller.processId;
    const { connection, caller, first, codec, table, guard, ancestorsOf } = options;
    this.#observers = options.observers;
    this.#recorder = options.recorder;
    this.#recordCaller = options.recorder?.callerNumber(options.caller.taskIdPrefix) ?? 0;
    if (guard !== undefined)
      this.#guard = new CallGuard({
        guard,
        caller,
        marksUnder: first === undefined ? caller.leaseId : markOfFirst(first.leaseId),
        ancestorsOf: this.#isOwn ? ancestorsOf : undefined,
      });
    this.#open = new OpenCalls({
      executor: options.executor,
      cancelChildren: options.cancelChildren,
      abandon: (context, callId) => this.#answerCancelled(context, { callId }),
      onUnsafe: this.#isOwn ? options.onUnsafe : undefined,
    });
    const held = new InFlightBorrows({ table, receiverId: this.#callerId, link: options.caller.link });
    this.#held = held;
    this.received = new ReceivedCalls(table, options.caller);
    this.#streams = new StreamServer({
      connection,
      codec,
      held,
      callerId: this.#callerId,
      onLeft: (context) => this.#open.leave(context),
    });
    this.#results = new ResultSender({
      connection: options.connection,
      codec: options.codec,
      held,
      callerId: this.#callerId,
    });
    options.connection.onFrame = (frame) => this.#receive(frame);
  }

  get callerId(): ProcessId {
    return this.#callerId;
  }

  /** By which its calls' contexts can be told from those of other callers. */
  get taskIdPrefix(): string {
    return this.#options.caller.taskIdPrefix;
  }

  /** Number of the last read call or definition with holds, whose references this process releases. */
  get heldRead(): number {
    return this.received.heldRead;
  }

  /** The caller is the runtime of this worker. */
  get #isOwn(): boolean {
    return this.#callerId === this.#options.processId;
  }

  /** Whether nothing of this caller has been here for so long: no call waits, runs or is parked. */
  isIdleFor(idleMs: number): boolean {
    return this.#openCalls === 0 && performance.now() - this.#lastCallMs >= idleMs;
  }

  /** From now on no call of this caller begins. Frames that the caller sends before it knows go back unread, and so do their references. */
  retire(): void {
    this.isRetired = true;
    this.#connection.onFrame = () => {};
    this.#connection.close();
  }

  /** No task begins in this process any more: later tasks go back to the caller, which sends them elsewhere. */
  decline(): void {
    if (this.isRetired) return;
    this.#connection.onFrame = (frame) => {
      if (frame.type === MESSAGE.TASK_CALL) this.#declineUnread(frame);
      else this.#receive(frame);
    };
    this.#connection.flush();
  }

  #declineUnread(frame: Frame): void {
    this.received.taskCount += 1;
    if ((frame.flags & FRAME_FLAG.NUMBER) === 0)
      this.received.discard(this.received.readCall(readAs(MESSAGES_TO_WORKER, MESSAGE.TASK_CALL, frame), frame, ""));
    this.#results.sendDeclined(frame.callId);
    this.#endFirst();
  }

  /** Declines a call that waits to begin. */
  #declineWaiting(call: ReceivedCall): void {
    this.received.discard(call);
    this.#open.delete(call.callId);
    this.#streams.ended(call.callId);
    this.#openCalls -= 1;
    this.#results.sendDeclined(call.callId);
    this.#endFirst();
  }

  /** Declines a call that was about to begin and has lost arguments: the call goes back with all its holds. */
  #declineWithout(lost: readonly LostObject[], context: TaskContext, call: ReceivedCall): void {
    if (context.isCancelled || this.#streams.isStopped(call.callId)) {
      this.#answerCancelled(context, call);
      return;
    }
    this.#results.sendDeclined(call.callId, lost);
    this.#callEnded(context, call.callId, "declined", undefined);
  }

  /**
   * The caller's process has ended, and nobody waits for the caller's tasks any more. Waiting tasks are dropped, and begun tasks are
   * cancelled with the calls that they submitted. Calls of an actor go on, because they change a state that other callers see.
   */
  callerGone(): void {
    this.#held.close();
    this.#streams.close();
    this.#open.callerGone();
  }

  #receive(frame: Frame): void {
    switch (frame.type) {
      case MESSAGE.TASK_CALL:
        this.#openCalls += 1;
        this.received.taskCount += 1;
        if ((frame.flags & FRAME_FLAG.NUMBER) !== 0) this.#plainTask(frame);
        else this.#task(readAs(MESSAGES_TO_WORKER, MESSAGE.TASK_CALL, frame), frame);
        return;
      case MESSAGE.ACTOR_CALL:
        if ((frame.flags & FRAME_FLAG.NUMBER) !== 0) this.#plainMethod(frame);
        else this.#fullMethod(readAs(MESSAGES_TO_WORKER, MESSAGE.ACTOR_CALL, frame), frame);
        return;
      case MESSAGE.DEFINITION: {
        const header = readAs(MESSAGES_TO_WORKER, MESSAGE.DEFINITION, frame);
        if (header.inBand >= 0) this.#options.definitions.receive(header, frame.body);
        this.received.read(header.held);
        this.#targets.nameFunction(header);
        return;
      }
      case MESSAGE.DEFINITION_DROPPED:
        this.#targets.forgetFunction(...readAs(MESSAGES_TO_WORKER, MESSAGE.DEFINITION_DROPPED, frame));
        return;
      case MESSAGE.METHOD: {
        const [number, name, group] = readAs(MESSAGES_TO_WORKER, MESSAGE.METHOD, frame);
        this.#targets.nameMethod(number, name, group);
        return;
      }
      case MESSAGE.CALL_PARENT:
        this.#parentIs(frame);
        return;
      case MESSAGE.WHY_CALL:
        this.#why(frame.callId, readAs(MESSAGES_TO_WORKER, MESSAGE.WHY_CALL, frame));
        return;
      case MESSAGE.CANCEL:
        this.#open.cancel(frame.callId, readAs(MESSAGES_TO_WORKER, MESSAGE.CANCEL, frame));
        return;
      case MESSAGE.STREAM_CREDIT:
      case MESSAGE.STREAM_STOP:
        this.#streams.receive(frame);
        return;
    }
  }

  #parentIs({ body, callId }: Frame): void {
    this.#parentCaller = body.length === 0 ? 0 : (this.#recorder?.callerNumber(Buffer.from(body).toString("latin1")) ?? 0);
    this.#parentId = callId;
  }

  // ---- tasks

  #plainTask(frame: Frame): void {
    const callee = this.#targets.callee(frame.number);
    const { callId } = frame;
    const isGraph = (frame.flags & FRAME_FLAG.GRAPH) !== 0;
    const context = this.#newContext(callee.name, callId, DEFAULT_SHAPE);
    const fn = isGraph ? undefined : this.#targets.functionOf(callee);
    if (fn !== undefined && this.#executor.canRunNow(DEFAULT_SHAPE)) {
      this.#guard?.begins(callId);
      if (callee.maxCalls !== undefined) this.#options.begins?.(callee.id, callee.maxCalls);
      this.#executor.begin(context, DEFAULT_SHAPE);
      let args: unknown[];
      try {
        args = this.#codec.decodePlainArguments(frame.body);
      } catch (error) {
        this.#answerError(context, { callId, numReturns: 1 }, error);
        return;
      }
      this.#run(context, { callId, numReturns: 1, callee }, fn, undefined, args);
      return;
    }
    const args = inBandPayload(copyBytes(frame.body), { graph: isGraph, error: false });
    this.#enqueueTask(callee, context, DEFAULT_SHAPE, { callId, name: callee.name, numReturns: 1, callee, args, deps: NO_PAYLOADS });
  }

  #task(header: CallHeader, frame: Frame): void {
    const callee = this.#targets.callee(header.target);
    const call = { ...this.received.readCall(header, frame, header.name ?? callee.name), callee };
    const context = this.#newContext(call.name, call.callId, header.shape, header.accelerators ?? this.#options.first?.accelerators);
    if (header.attempt !== undefined) context.attempt = header.attempt;
    if (header.stream !== undefined) {
      const guard = this.#guard;
      const ask = guard === undefined ? undefined : <T>(next: () => T): T => guard.ask(call.callId, callee.items, next);
      this.#streams.open(call.callId, context, header.stream, ask);
    }
    this.#enqueueTask(callee, context, header.shape, call);
  }

  #enqueueTask(callee: Callee, context: TaskContext, shape: string, call: ReceivedCall): void {
    context.onParked = () => this.#results.sendParked(call.callId);
    this.#open.set(call.callId, context);
    const job: Job = {
      context,
      shape,
      run: () => {
        if (context.isCancelled) {
          this.received.discard(call);
          this.#answerCancelled(context, call);
          return;
        }
        this.#guard?.begins(call.callId);
        if (callee.maxCalls !== undefined) this.#options.begins?.(callee.id, callee.maxCalls);
        const fn = this.#targets.functionOf(callee);
        if (fn !== undefined) {
          this.#decodeAndRun(context, call, fn, undefined);
          return;
        }
        this.#options.definitions.load(callee.id).then(
          (loaded) => this.#decodeAndRun(context, call, loaded as AnyFunction, undefined),
          (error: unknown) => this.#answerError(context, call, error),
        );
      },
      decline: () => {
        if (context.isCancelled) job.run();
        else this.#declineWaiting(call);
      },
    };
    this.#executor.enqueue(job);
  }

  #newContext(name: string, callId: number, shape: string, accelerators?: AcceleratorIds): TaskContext {
    return this.#child(
      new TaskContext({ name, taskIdPrefix: this.#options.caller.taskIdPrefix, callId, place: this.#places.of(shape, accelerators) }),
    );
  }

  #child(context: TaskContext): TaskContext {
    context.parentCaller = this.#parentCaller;
    context.parentId = this.#parentId;
    return context;
  }

  // ---- actors

  #plainMethod(frame: Frame): void {
    const graph = (frame.flags & FRAME_FLAG.GRAPH) !== 0;
    const target = this.#targets.method(frame.number);
    const { group } = target;
    if (!graph && group !== undefined && !target.isReserved) {
      const instance = this.#options.actors.tryBegin(group);
      if (instance !== undefined) {
        this.#runMethodNow(frame, target, instance);
        return;
      }
    }
    const args = inBandPayload(copyBytes(frame.body), { graph, error: false });
    const { callId } = frame;
    this.#callMethod(undefined, target, { callId, name: target.name, numReturns: 1, method: target, args, deps: NO_PAYLOADS });
  }

  /** The hot path: an idle actor, and arguments that are read where they arrived. */
  #runMethodNow(frame: Frame, target: Method, instance: object): void {
    const { name, finished } = target;
    const call = { callId: frame.callId, numReturns: 1, method: target };
    const context = this.#methodContext(name, frame.callId);
    let method: AnyFunction;
    let args: unknown[];
    try {
      method = methodOf(instance, name, this.#options.actors.className);
      args = this.#codec.decodePlainArguments(frame.body);
    } catch (error) {
      this.#answerError(context, call, error, finished);
      return;
    }
    this.#run(context, call, method, instance, args, finished);
  }

  /** @param shownName - the option `name` of the call, which errors show in place of the method's */
  #methodContext(name: string, callId: number, shownName?: string): TaskContext {
    const host = this.#options.actors;
    const { taskIdPrefix } = this.#options.caller;
    return this.#child(new TaskContext({ name: shownName ?? this.#targets.callName(name), taskIdPrefix, callId, place: host.place }));
  }

  #fullMethod(header: CallHeader, frame: Frame): void {
    const method = this.#targets.method(header.target);
    const addressed = { actor: header.actorId, incarnation: header.incarnation };
    const call = { ...this.received.readCall(header, frame, method.name), method, shownName: header.name, attempt: header.attempt };
    this.#callMethod(addressed, method, call, header.stream);
  }

  #callMethod(
    addressed: { actor: ActorId | undefined; incarnation: number } | undefined,
    { group, groupName }: Method,
    call: ReceivedCall & { readonly shownName?: string | undefined; readonly attempt?: number | undefined },
    stream?: StreamHeader,
  ): void {
    const host = this.#options.actors;
    const context = this.#methodContext(call.name, call.callId, call.shownName);
    context.attempt = call.attempt ?? 0;
    if (call.name === TERMINATE_METHOD) {
      host.enqueueLast({
        run: (_instance, done) => {
          this.#answer(context, call, undefined, 0, done);
          this.#options.onActorEnd({ ending: "terminated", reason: "it was terminated" });
        },
      });
      return;
    }
    if (group === undefined) {
      this.received.discard(call);
      const known = host.groupNames.join(", ");
      this.#answerError(context, call, new TypeError(`there is no concurrency group ${groupName}: there are ${known}`), () => {});
      return;
    }
    this.#open.set(call.callId, context);
    if (stream !== undefined) this.#streams.open(call.callId, context, stream);
    const run: ActorJob["run"] = (instance, done, began) => {
      if (context.isCancelled) {
        this.received.discard(call);
        this.#answerCancelled(context, call, done);
        return;
      }
      const refusal = instance === undefined ? "the actor has ended" : host.refusalOf(addressed);
      let method: AnyFunction;
      try {
        if (refusal !== undefined) throw new Error(refusal);
        method = call.name === GRAPH_METHOD ? graphMethod(this.#options) : methodOf(instance, call.name, host.className);
      } catch (error) {
        this.received.discard(call);
        this.#answerError(context, call, error, done);
        return;
      }
      this.#decodeAndRun(context, call, method, instance, done, began);
    };
    host.enqueue({ run, isRemade: call.isRemade === true }, group);
  }

  // ---- both

  /** The calls of this caller that have begun and await something. */
  get begunCalls(): TaskContext[] {
    return this.#open.begun;
  }

  #why(requestId: number, { callId, trail }: WhyCallHeader): void {
    void this.#options.explain(this.#open.get(callId), trail).then((why) => this.#connection.reply(requestId, why));
  }

  #decodeAndRun(context: TaskContext, call: ReceivedCall, fn: AnyFunction, receiver: unknown, done?: () => void, began?: () => void): void {
    let args: unknown[] | Promise<unknown[]>;
    try {
      args = this.#codec.decodeArguments(call.args, call.deps, argumentWait(context, call, this.#options.actors));
    } catch (error) {
      this.#answerError(context, call, error, done);
      return;
    }
    if (args instanceof Promise) {
      args.then(
        (decoded) => {
          this.#run(context, call, fn, receiver, decoded, done);
          began?.();
        },
        (error: unknown) => {
          if (ArgumentsLost.is(error)) this.#declineWithout(error.lost, context, call);
          else this.#answerError(context, call, error, done);
        },
      );
    } else {
      this.#run(context, call, fn, receiver, args, done);
      began?.();
    }
  }

  #run(
    context: TaskContext,
    call: {
      callId: number;
      numReturns: number;
      callee?: (Measured & RecordedFunction) | undefined;
      method?: (Measured & RecordedFunction) | undefined;
    },
    fn: AnyFunction,
    receiver: unknown,
    args: unknown[],
    done?: () => void,
  ): void {
    if (context.isCancelled || (call.numReturns === STREAMING && this.#streams.isStopped(call.callId))) {
      // While its function was loaded, or its arguments were read.
      this.#answerCancelled(context, call, done);
      return;
    }
    const { callee } = call;
    const measured = callee ?? call.method;
    // The answers of this tick leave before a call that may last, or end the process.
    if (measured !== undefined && isGuarded(measured)) this.#connection.flush();
    context.fn = fn;
    this.#observers?.begins(context);
    const body = (): unknown => Reflect.apply(fn, receiver, args);
    const startMs = performance.now();
    if (measured !== undefined) this.#recordBegin(context, measured, startMs);
    let result: unknown;
    let then: ReturnType<typeof thenOf>;
    try {
      result = callee === undefined || !isGuarded(callee) ? taskContext.run(context, body) : this.#runGuarded(context, call.callId, body);
      then = thenOf(result);
    } catch (error) {
      if (call.method !== undefined) measure(call.method, performance.now() - startMs);
      if (Interruption.is(error)) this.#interrupted(context, call, error);
      else this.#answerError(context, call, error, done);
      return;
    }
    const endMs = performance.now();
    const syncMs = endMs - startMs;
    context.endedMs = endMs;
    if (measured !== undefined) measure(measured, syncMs);
    if (then !== undefined) {
      this.#open.set(call.callId, context);
      context.startedMs = startMs;
      // Also for a call that began where its frame arrived: the caller must know that the calls behind it may begin.
      if (callee !== undefined) context.onParked ??= () => this.#results.sendParked(call.callId);
      this.#answerLater(context, call, { result, then }, done);
      return;
    }
    this.#answer(context, call, result, syncMs, done);
  }

  #runGuarded(context: TaskContext, callId: number, body: () => unknown): unknown {
    const guard = this.#guard;
    if (guard === undefined) return taskContext.run(context, body);
    // The guard is inside: a stopped body cannot restore its context.
    return taskContext.run(context, () => guard.run(callId, body));
  }

  #answerLater(
    context: TaskContext,
    call: { callId: number; numReturns: number },
    { result, then }: { result: unknown; then: NonNullable<ReturnType<typeof thenOf>> },
    done: (() => void) | undefined,
  ): void {
    const onValue = (value: unknown): void => {
      const endMs = performance.now();
      context.endedMs = endMs;
      this.#answer(context, call, value, endMs - (context.startedMs ?? 0), done);
    };
    const onError = (error: unknown): void => this.#answerError(context, call, error, done);
    try {
      if (Object.getPrototypeOf(result) === Promise.prototype) {
        // Not its own `then`, which may do anything; neither does `await` call that.
        void Reflect.apply(PROMISE_THEN, result, [onValue, onError]);
        return;
      }
    } catch (error) {
      onError(error);
      return;
    }
    // Inside the task's context: a returned ref is awaited by it, and parks it.
    taskContext.run(context, () => follow(result, then, { onValue, onError }));
  }

  /** The code of a task was stopped where it stood. */
  #interrupted(context: TaskContext, call: { callId: number; numReturns: number }, { request, isUnsafe }: Interruption): void {
    const reason = interruptedError(context.name, request);
    // Before the answer, which lets the next task begin.
    this.#options.onInterrupted();
    endHeapGrowths();
    if (request?.recursive === true) this.#options.cancelChildren(context);
    // The caller has not cancelled this call, or not yet: the cancelled parent hears of that next.
    if (request === undefined || request.isForAncestor) this.#answerError(context, call, reason);
    else {
      context.cancellation.cancel(reason);
      // An error, for a caller that has not been able to cancel it: the daemon kept its time limit.
      if (!context.isFinished) {
        this.#results.send(call.callId, this.#codec.encodeError(reason, { name: context.name }), FRAME_FLAG.ERROR, 0);
        this.#callEnded(context, call.callId, "cancelled", undefined);
      }
    }
    if (isUnsafe) this.#options.onUnsafe();
  }

  #answer(context: TaskContext, call: { callId: number; numReturns: number }, value: unknown, durationMs: number, done?: () => void): void {
    if (context.exits) {
      this.#options.onActorEnd(EXITED);
      return;
    }
    if (context.isCancelled) {
      this.#answerCancelled(context, call, done);
      return;
    }
    if (call.numReturns === STREAMING) {
      this.#open.set(call.callId, context);
      context.startedMs = performance.now();
      this.#streams.run(call.callId, value).then(
        (streamMs) => this.#answer(context, { callId: call.callId, numReturns: 0 }, undefined, streamMs, done),
        (error: unknown) => {
          if (Interruption.is(error)) this.#interrupted(context, call, error);
          else this.#answerError(context, call, error, done);
        },
      );
      return;
    }
    const durationUs = Math.min(0xffffffff, Math.round(durationMs * 1000));
    try {
      if (call.numReturns === 1) this.#results.send(call.callId, this.#codec.encode(value), 0, durationUs);
      else this.#results.sendReturns(call, value, durationUs);
    } catch (error) {
      this.#answerError(context, call, unsentResult(error, value, context), done);
      return;
    }
    this.#callEnded(context, call.callId, "finished", done);
  }

  #answerError(context: TaskContext, call: { callId: number; numReturns: number }, error: unknown, done?: () => void): void {
    if (context.exits) {
      this.#options.onActorEnd(EXITED);
      return;
    }
    if (context.isCancelled) {
      this.#answerCancelled(context, call, done);
      return;
    }
    this.#results.send(call.callId, this.#codec.encodeError(error, { name: context.name }), FRAME_FLAG.ERROR, 0);
    this.#recorder?.failed(context.taskIdPrefix, call.callId, error);
    this.#callEnded(context, call.callId, "failed", done);
  }

  /** The caller has settled it already, and only learns that the call has ended. */
  #answerCancelled(context: TaskContext, call: { callId: number }, done?: () => void): void {
    // An abandoned call has been answered.
    if (context.isFinished) return;
    this.#results.send(call.callId, this.#codec.encode(undefined), 0, 0);
    this.#callEnded(context, call.callId, "cancelled", done);
  }

  #callEnded(context: TaskContext, callId: number, outcome: CallOutcome, done: (() => void) | undefined): void {
    this.#observers?.ended(context, outcome);
    if (context.recordFunction >= 0) this.#recordEnd(context, outcome);
    if (this.#open.size > 0) this.#open.delete(callId);
    if (this.#streams.size > 0) this.#streams.ended(callId);
    if (done === undefined) {
      this.#taskEnded(context);
      return;
    }
    context.isFinished = true;
    done();
  }

  #recordBegin(context: TaskContext, measured: RecordedFunction, startMs: number): void {
    const recorder = this.#recorder;
    if (recorder === undefined) return;
    const fn = recorder.functionNumber(measured, context.name, context.place.actor);
    context.recordFunction = fn;
    context.recordSlot = recorder.begins(fn, this.#recordCaller, context, startMs);
  }

  #recordEnd(context: TaskContext, outcome: CallOutcome): void {
    const { recordSlot, recordFunction, endedMs } = context;
    context.recordFunction = -1;
    if (outcome === "declined") this.#recorder?.forget(recordSlot);
    else this.#recorder?.ends(recordSlot, recordFunction, outcome, endedMs ?? performance.now());
  }

  #taskEnded(context: TaskContext): void {
    this.#openCalls -= 1;
    if (this.#openCalls === 0) this.#lastCallMs = performance.now();
    this.#endFirst();
    this.#executor.finished(context);
  }

  /** The connection of a first call ends with its answer. */
  #endFirst(): void {
    if (this.#options.first !== undefined && this.#openCalls === 0) this.#connection.close();
  }
}
