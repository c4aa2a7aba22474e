/**
 * A compiled graph for its user: begins and bounds executions, hands each result out once, and ends the graph.
 *
 * Owns the number of running executions, and the waiters for room or for results. An engine carries values to the actors and back (channels
 * in shared memory, or ordinary calls without it). Results that nobody awaits are garbage like any value; their failures are reported then.
 * After the end, by `teardown` or by the death of an actor, every pending and every later execution fails with GraphClosedError.
 */
import { TURN_EVERY_MS } from "../runtime/worker/limits.ts";
import type { ResolvedCompileOptions } from "./compile-options.ts";
import { GraphCapacityExceededError, GraphClosedError } from "./graph-errors.ts";
import { isThenable } from "../runtime/base/thenable.ts";

/** Runs the executions. */
export interface GraphEngine {
  readonly transport: "channels" | "calls";
  readonly slowerBecause: string | undefined;
  /** Begins an execution; each result is settled with `settle` when its output has arrived. @throws for invalid input */
  submit(input: unknown, results: readonly CompiledResult[]): void;
  /** Takes in outputs that have arrived. With `isDone` the caller would otherwise sleep until that holds, so a short wait is worth it. */
  poll(isDone: (() => boolean) | undefined): void;
  /** Keeps the process alive while results are awaited. */
  setAwaited(awaited: boolean): void;
  /** Fails pending results, and stops the actors' part; resolves when they take ordinary calls again. */
  close(reason: GraphClosedError): Promise<void>;
}

const RESULTS_A_CLOCK = 32;

type Settled = "value" | "error";

/** Failures whose result was collected as garbage before anybody awaited it. The end of a graph is reported in other ways. */
const unseen = new FinalizationRegistry<{ error: unknown; report: (text: string) => void }>(({ error, report }) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  report(`An execution of a compiled graph failed and nobody awaited its result:\n${text}`);
});

const THERE = Promise.resolve();

/** The result of one output of one execution. */
export class CompiledResult implements PromiseLike<unknown> {
  readonly #graph: CompiledGraphHandle;
  readonly #execution: Execution;
  #state: "pending" | Settled | "taken" = "pending";
  #value: unknown;
  #resolve: ((value: unknown) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(graph: CompiledGraphHandle, execution: Execution) {
    this.#graph = graph;
    this.#execution = execution;
  }

  // biome-ignore lint/suspicious/noThenProperty: a result is thenable as a ref is
  then<A, B>(
    onFulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (this.#state === "pending") this.#graph.lookForResults(() => this.#state !== "pending");
    const mustTurn = this.#graph.mustTurn();
    const value = this.#value;
    if (mustTurn || this.#state !== "value" || typeof onFulfilled !== "function" || isThenable(value))
      return this.#take(mustTurn).then(onFulfilled, onRejected);
    this.#state = "taken";
    this.#value = undefined;
    // A promise of the value would look for a `then` in it once more, which takes longer than to encode it.
    return THERE.then(() => onFulfilled(value));
  }

  /** Called by the engine, once. */
  settle(state: Settled, value: unknown): void {
    if (this.#state !== "pending") {
      if (this.#resolve === undefined) return;
      if (state === "value") this.#resolve(value);
      else this.#reject?.(value);
      this.#resolve = undefined;
      this.#reject = undefined;
      this.#graph.awaitEnded();
    } else {
      this.#state = state;
      this.#value = value;
      if (state === "error" && !(value instanceof GraphClosedError))
        unseen.register(this, { error: value, report: this.#graph.report }, this);
    }
    this.#execution.left -= 1;
    if (this.#execution.left === 0) this.#graph.executionEnded();
  }

  #take(mustTurn: boolean): Promise<unknown> {
    if (this.#state === "taken") {
      return Promise.reject(
        new TypeError("Cannot await a result of a compiled graph twice: it is handed out once: keep what the first await gave"),
      );
    }
    const state = this.#state;
    const value = this.#value;
    if (state === "error") unseen.unregister(this);
    this.#state = "taken";
    this.#value = undefined;
    if (state !== "pending") {
      const settled = (): Promise<unknown> => (state === "value" ? Promise.resolve(value) : Promise.reject(value));
      return mustTurn ? nextTurn().then(settled) : settled();
    }
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      // Last: it may find the result.
      this.#graph.awaitBegins();
    });
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Number of results of an execution that are still to come. */
interface Execution {
  left: number;
}

interface RoomWaiter {
  input: readonly unknown[];
  resolve: (value: { refs: unknown }) => void;
  reject: (error: unknown) => void;
  timer: NodeJS.Timeout;
}

/** The outputs of a graph. Every compiled graph has an input, as something must start it. */
export interface GraphSignature {
  /** 1, or the number of outputs of a MultiOutputNode. */
  readonly outputCount: number;
  readonly isMultiOutput: boolean;
  /** Reports a failure that nobody has seen. */
  readonly report: (text: string) => void;
}

export class CompiledGraphHandle {
  readonly #signature: GraphSignature;
  readonly #options: ResolvedCompileOptions;
  readonly #engine: GraphEngine;
  readonly #waiters = new Set<RoomWaiter>();
  #inflight = 0;
  #awaits = 0;
  #takenSinceClock = 0;
  #turnedMs = performance.now();
  #closed: GraphClosedError | undefined;
  #closing: Promise<void> | undefined;

  constructor(signature: GraphSignature, options: ResolvedCompileOptions, engine: GraphEngine) {
    this.#signature = signature;
    this.#options = options;
    this.#engine = engine;
  }

  get report(): (text: string) => void {
    return this.#signature.report;
  }

  get transport(): "channels" | "calls" {
    return this.#engine.transport;
  }

  get slowerBecause(): string | undefined {
    return this.#engine.slowerBecause;
  }

  execute(...input: unknown[]): unknown {
    this.#check(input);
    const { maxInflightExecutions: max } = this.#options;
    if (this.#inflight >= max) this.#engine.poll(undefined);
    if (this.#inflight >= max) throw this.#overCapacity("wait for results before the next execution, or use executeAsync");
    return this.#begin(input);
  }

  async executeAsync(...input: unknown[]): Promise<{ refs: unknown }> {
    this.#check(input);
    if (this.#inflight >= this.#options.maxInflightExecutions)
      this.#engine.poll(() => this.#inflight < this.#options.maxInflightExecutions);
    if (this.#waiters.size === 0 && this.#inflight < this.#options.maxInflightExecutions) return { refs: this.#begin(input) };
    const { submitTimeoutMs } = this.#options;
    this.awaitBegins();
    return new Promise<{ refs: unknown }>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(this.#overCapacity(`none ended within ${submitTimeoutMs} ms (submitTimeoutMs)`));
      }, submitTimeoutMs);
      const waiter: RoomWaiter = { input, resolve, reject, timer };
      this.#waiters.add(waiter);
    }).finally(() => this.awaitEnded());
  }

  teardown(): Promise<void> {
    this.close(
      new GraphClosedError("Cannot finish an execution: its compiled graph was torn down", {
        reason: "teardown() was called",
        hint: "Await the results before teardown(), or compile the graph again.",
      }),
    );
    return this.#closing as Promise<void>;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.teardown();
  }

  /** Closes the graph; the first reason counts. Fails pending results through the engine, which hands them to `settle`. */
  close(reason: GraphClosedError): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    for (const waiter of this.#waiters) {
      clearTimeout(waiter.timer);
      waiter.reject(reason);
    }
    this.#waiters.clear();
    this.#closing = this.#engine.close(reason);
    // Callers of teardown() get the failure; an end that nobody requested has no other listener.
    this.#closing.catch(() => {});
  }

  get closedBy(): GraphClosedError | undefined {
    return this.#closed;
  }

  // ---- called by results

  lookForResults(isDone: () => boolean): void {
    this.#engine.poll(isDone);
  }

  /**
   * Whether the event loop turns before the next result is handed out. A result that is ready when it is awaited takes no turn of the loop.
   * A program that awaits one after the other would otherwise starve its timers and its connections.
   */
  mustTurn(): boolean {
    this.#takenSinceClock += 1;
    if (this.#takenSinceClock < RESULTS_A_CLOCK) return false;
    this.#takenSinceClock = 0;
    const nowMs = performance.now();
    if (nowMs - this.#turnedMs < TURN_EVERY_MS) return false;
    this.#turnedMs = nowMs;
    return true;
  }

  awaitBegins(): void {
    this.#awaits += 1;
    if (this.#awaits === 1) this.#engine.setAwaited(true);
  }

  awaitEnded(): void {
    this.#awaits -= 1;
    if (this.#awaits === 0) this.#engine.setAwaited(false);
  }

  executionEnded(): void {
    this.#inflight -= 1;
    if (this.#waiters.size === 0) return;
    const [waiter] = this.#waiters;
    if (waiter === undefined || this.#closed !== undefined) return;
    this.#waiters.delete(waiter);
    clearTimeout(waiter.timer);
    try {
      waiter.resolve({ refs: this.#begin(waiter.input) });
    } catch (error) {
      waiter.reject(error);
    }
  }

  #check(input: readonly unknown[]): void {
    if (this.#closed !== undefined) {
      throw new GraphClosedError(`Cannot execute a compiled graph: it has ended: ${this.#closed.reason ?? this.#closed.message}`, {
        reason: this.#closed.reason,
        hint: "Compile the graph again, with actors that live.",
        ...("cause" in this.#closed ? { cause: this.#closed.cause } : {}),
      });
    }
    if (input.length === 1) return;
    throw new TypeError(`Cannot execute a graph: it has an InputNode, so one input is needed: received ${input.length}`);
  }

  #begin(input: readonly unknown[]): unknown {
    const { outputCount, isMultiOutput } = this.#signature;
    const execution: Execution = { left: outputCount };
    const results: CompiledResult[] = [];
    for (let index = 0; index < outputCount; index += 1) results.push(new CompiledResult(this, execution));
    this.#engine.submit(input[0], results);
    this.#inflight += 1;
    return isMultiOutput ? results : results[0];
  }

  #overCapacity(hint: string): GraphCapacityExceededError {
    const { maxInflightExecutions } = this.#options;
    return new GraphCapacityExceededError(`Cannot execute a compiled graph: ${maxInflightExecutions} executions are under way: ${hint}`, {
      reason: `${maxInflightExecutions} executions are under way`,
      hint: "Await results in between, or raise maxInflightExecutions.",
    });
  }
}
