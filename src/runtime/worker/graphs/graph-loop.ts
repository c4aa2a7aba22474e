/**
 * The loop of an actor in a compiled graph: reads inputs from channels, runs the methods, and writes their results.
 *
 * Runs its operations in the order of the plan, one execution after the other, each to its end. An error as input is passed on without running the method. Without input
 * the loop looks for a moment and then sleeps in the event loop until its doorbell rings, so timers, connections and other groups of the actor go on. With constant input
 * it turns the event loop every few milliseconds. The loop ends between two operations when the graph is closed; then the call that holds the actor ends.
 */
import { type SpinWait, newSpinWait } from "../../objects/channels/spin-wait.ts";
import { GraphMemory } from "../../objects/channels/graph-memory.ts";
import type { ObjectTable } from "../../objects/object-table.ts";
import type { ValueCodec } from "../../objects/value-codec.ts";
import type { ActorHost } from "../actors/actor-host.ts";
import { type GraphPlan, newOperations, type Operation, partOf } from "./graph-operations.ts";
import { TURN_EVERY_MS } from "../limits.ts";
import { taskContext } from "../tasks/task-context.ts";
import { follow, thenOf } from "../../base/thenable.ts";

/** The parts of the process that the loop needs. */
interface GraphLoopContext {
  readonly codec: ValueCodec;
  readonly table: Pick<ObjectTable, "holdFor">;
  readonly actors: ActorHost;
}

/** A result, or the error in its place. */
type Outcome = { readonly error: unknown } | { readonly value: unknown };

/** Limit on the delay of other events in the process. */
const BLOCK_US_MAX = 1000;
const OPERATIONS_A_CLOCK = 32;
/** Results of operations up to this duration, with the waits between them, are announced together. */
const QUICK_OPERATION_MS = 0.02;

/** Makes the reserved method, which takes the actor's part of a graph and runs until the graph is closed. */
export function graphMethod(context: GraphLoopContext): (plan: unknown) => Promise<void> {
  return (plan) =>
    new Promise((resolve, reject) => {
      try {
        new GraphLoop({ plan: plan as GraphPlan, context, onEnd: resolve }).start(taskContext.current?.cancellation.signal);
      } catch (error) {
        reject(error);
      }
    });
}

class GraphLoop {
  readonly #instance: object;
  readonly #memory: GraphMemory;
  readonly #operations: Operation[];
  readonly #results: (Outcome | undefined)[];
  readonly #onEnd: () => void;
  readonly #wait: SpinWait;
  readonly #canGoOn = (): boolean => this.#memory.isClosed || this.#isReady();
  readonly #pump = (): void => this.#run();
  #at = 0;
  /** A method, or the reading of an argument, has returned a promise that is pending. */
  #isWaiting = false;
  #isTurning = false;
  #isEnded = false;
  #sinceClock = 0;
  #turnedMs = performance.now();
  #clockMs = performance.now();

  constructor(options: { plan: GraphPlan; context: GraphLoopContext; onEnd: () => void }) {
    const { plan, context, onEnd } = options;
    const { codec, table, actors } = context;
    this.#instance = actors.instance as object;
    this.#onEnd = onEnd;
    this.#memory = new GraphMemory(plan.map, plan.self, () => this.#run());
    this.#wait = newSpinWait(this.#memory, BLOCK_US_MAX);
    this.#operations = newOperations(this.#instance, plan, { codec, table, place: actors.place, memory: this.#memory });
    this.#results = this.#operations.map(() => undefined);
  }

  /** @param abandoned aborts when the process that compiled the graph is gone, and the graph with it */
  start(abandoned: AbortSignal | undefined): void {
    abandoned?.addEventListener(
      "abort",
      () => {
        if (this.#isEnded) return;
        this.#memory.markClosed();
        this.#run();
      },
      { once: true },
    );
    this.#memory.join();
    this.#run();
  }

  #run(): void {
    if (this.#isWaiting || this.#isTurning || this.#isEnded) return;
    for (;;) {
      if (this.#memory.isClosed) {
        this.#end();
        return;
      }
      if (this.#isReady()) {
        this.#step();
        if (this.#isWaiting || this.#mustTurn()) {
          this.#memory.flushRings();
          return;
        }
        continue;
      }
      // Sleeping readers are now informed of the held results.
      if (this.#memory.hasHeldRings) this.#memory.flushRings();
      if (!this.#wait.until(this.#canGoOn)) {
        this.#memory.beginSleep();
        if (!this.#canGoOn()) return;
        this.#memory.endSleep();
      }
    }
  }

  /** Whether the next operation has all its inputs, and the results before it are written. */
  #isReady(): boolean {
    const { readers, writer } = this.#operations[this.#at] as Operation;
    for (const reader of readers) if (!reader.next()) return false;
    return writer === undefined || !writer.isWaiting || writer.flush();
  }

  #step(): void {
    const operation = this.#operations[this.#at] as Operation;
    let pending: Promise<void> | undefined;
    try {
      for (const reader of operation.readers) {
        const reading = reader.read();
        if (reading !== undefined) pending = pending === undefined ? reading : Promise.all([pending, reading]).then(() => {});
      }
    } catch (error) {
      this.#finish(operation, { error });
      return;
    }
    if (pending === undefined) {
      this.#call(operation);
      return;
    }
    this.#isWaiting = true;
    pending.then(
      () => {
        this.#isWaiting = false;
        this.#call(operation);
        if (!this.#mustTurn()) this.#run();
      },
      (error: unknown) => this.#resume(operation, { error }),
    );
  }

  #call(operation: Operation): void {
    let result: unknown;
    let then: ReturnType<typeof thenOf>;
    try {
      const args = this.#argumentsOf(operation);
      if (!Array.isArray(args)) {
        this.#finish(operation, args);
        return;
      }
      result = operation.scope.call(operation.method, this.#instance, args);
      then = thenOf(result);
    } catch (error) {
      this.#finish(operation, { error });
      return;
    }
    if (then === undefined) {
      this.#finish(operation, { value: result });
      return;
    }
    this.#isWaiting = true;
    const onValue = (value: unknown): void => this.#resume(operation, { value });
    const onError = (error: unknown): void => this.#resume(operation, { error });
    operation.scope.call(() => follow(result, then, { onValue, onError }), undefined, []);
  }

  /** @returns the error that is among them, if there is one */
  #argumentsOf({ args, readers }: Operation): unknown[] | { error: unknown } {
    for (const reader of readers) if (reader.isError) return { error: reader.value };
    const values: unknown[] = [];
    for (const argument of args) {
      if (argument.kind === "constant") values.push(argument.value);
      else if (argument.kind === "channel")
        values.push(argument.path.length === 0 ? argument.reader.value : partOf(argument.reader.value, argument.path));
      else {
        const outcome = this.#results[argument.operation] as Outcome;
        if ("error" in outcome) return outcome;
        values.push(outcome.value);
      }
    }
    return values;
  }

  #resume(operation: Operation, outcome: Outcome): void {
    this.#isWaiting = false;
    this.#finish(operation, outcome);
    if (!this.#mustTurn()) this.#run();
  }

  #finish(operation: Operation, outcome: Outcome): void {
    const { writer, name, isUsedLocally, lastOf } = operation;
    if (writer !== undefined) {
      if ("error" in outcome) writer.writeError(outcome.error, name);
      else {
        try {
          writer.write(outcome.value);
        } catch (error) {
          writer.writeError(error, name);
        }
      }
    }
    // After the result is encoded, because it may share memory with the arguments.
    for (const reader of lastOf) reader.advance();
    this.#results[this.#at] = isUsedLocally ? outcome : undefined;
    this.#at = this.#at + 1 === this.#operations.length ? 0 : this.#at + 1;
  }

  /** Lets the event loop turn when this has gone on for a while. */
  #mustTurn(): boolean {
    this.#sinceClock += 1;
    if (this.#sinceClock < OPERATIONS_A_CLOCK) return false;
    this.#sinceClock = 0;
    const nowMs = performance.now();
    this.#memory.holdsRings = (nowMs - this.#clockMs) / OPERATIONS_A_CLOCK < QUICK_OPERATION_MS;
    this.#clockMs = nowMs;
    this.#memory.flushRings();
    if (nowMs - this.#turnedMs < TURN_EVERY_MS) return false;
    this.#turnedMs = nowMs;
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      this.#turnedMs = performance.now();
      this.#pump();
    });
    return true;
  }

  #end(): void {
    this.#isEnded = true;
    this.#memory.close();
    this.#onEnd();
  }
}
