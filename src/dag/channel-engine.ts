/**
 * Runs a compiled graph over channels in shared memory: writes inputs, takes results in, and holds the actors for as long as the graph lives.
 *
 * A long call holds each actor and ends with the graph; its failure reveals the death of the actor. Results are taken in on demand: at an
 * `await`, which polls for a moment before it sleeps, and when an actor rings. While nobody waits, this process does not sleep on its
 * doorbell, and actors ring nobody.
 */
import { asError } from "../runtime/base/texts/describe.ts";
import { Fifo } from "../runtime/base/collections/fifo.ts";
import type { ProcessId } from "../runtime/base/ids.ts";
import type { GraphActor, GraphRuntime } from "../core/internal.ts";
import { type SpinWait, newSpinWait } from "../runtime/objects/channels/spin-wait.ts";
import { type ValueChannelOptions, ValueReader, ValueWriter } from "../runtime/objects/channels/channel-values.ts";
import { createGraphFiles, type GraphMap, GraphMemory, removeGraphFiles } from "../runtime/objects/channels/graph-memory.ts";
import type { GraphPlan } from "../runtime/worker/graphs/graph-operations.ts";
import type { CompiledResult, GraphEngine } from "./compiled-graph.ts";
import { CALLER, type PlannedGraph } from "./graph-plan.ts";

interface ChannelEngineOptions {
  readonly runtime: GraphRuntime;
  readonly planned: PlannedGraph;
  /** An actor of the graph has died, or its part of the graph has failed. */
  readonly onActorLost: (error: Error) => void;
}

interface Output {
  readonly reader: ValueReader;
  readonly indices: readonly number[];
  /** Results in the order of their executions, `indices.length` for each. */
  readonly pending: Fifo<CompiledResult>;
  /** The current record is being read, which takes a promise. */
  isReading: boolean;
}

/** The event loop is blocked meanwhile. */
const BLOCK_US_MAX = 200;

/** A long batch begins to run while it is made. */
const INPUTS_A_RING = 64;

let graphs = 0;

export class ChannelEngine implements GraphEngine {
  readonly transport = "channels";
  readonly slowerBecause = undefined;
  readonly #options: ChannelEngineOptions;
  readonly #map: GraphMap;
  readonly #memory: GraphMemory;
  readonly #input: ValueWriter;
  readonly #outputs: readonly Output[];
  readonly #wait: SpinWait;
  /** Settle when the actors have left the graph. */
  readonly #ended: Promise<void>[] = [];
  #onJoin: (() => void) | undefined;
  #unrung = 0;
  readonly #ringNow = (): void => {
    this.#unrung = 0;
    this.#memory.flushRings();
  };
  #isAwaited = false;
  #isClosed = false;

  /** Makes the files; `start` does the rest. */
  constructor(options: ChannelEngineOptions) {
    const { runtime, planned } = options;
    this.#options = options;
    graphs += 1;
    this.#map = {
      directory: runtime.options.memoryDirectory,
      name: `graph-${runtime.options.processId}-${graphs}.channels`,
      endpoints: 1 + planned.actors.length,
      channels: planned.channels,
    };
    try {
      createGraphFiles(this.#map);
      this.#memory = new GraphMemory(this.#map, CALLER, () => this.#rung());
    } catch (error) {
      removeGraphFiles(this.#map);
      throw error;
    }
    this.#wait = newSpinWait(this.#memory, BLOCK_US_MAX);
    const channelOptions = (channel: number): ValueChannelOptions => ({
      map: this.#map,
      memory: this.#memory,
      channel,
      codec: runtime.serializer,
      table: runtime.table,
      processIds: this.#processIds(),
    });
    this.#memory.holdsRings = true;
    this.#input = new ValueWriter(channelOptions(planned.inputChannel));
    this.#outputs = planned.outputs.map(({ channel, indices }) => ({
      reader: new ValueReader(channelOptions(channel), CALLER),
      indices,
      pending: new Fifo<CompiledResult>(),
      isReading: false,
    }));
  }

  /** Takes the actors over. @throws the reason why one cannot join; the graph is closed then */
  async start(): Promise<void> {
    const { runtime, planned } = this.#options;
    const failed = new Promise<never>((_resolve, reject) => {
      for (const [index, { actor, operations }] of planned.actors.entries()) {
        const plan: GraphPlan = { map: this.#map, self: index + 1, processIds: this.#processIds(), operations };
        this.#hold(actor, plan, reject);
      }
    });
    // Once all have joined, this promise has no listener any more.
    failed.catch(() => {});
    try {
      await runtime.holdWhile(Promise.race([this.#allJoined(), failed]));
    } finally {
      // All have opened them, or none will.
      removeGraphFiles(this.#map);
    }
  }

  submit(input: unknown, results: readonly CompiledResult[]): void {
    this.#input.write(input);
    for (const { indices, pending } of this.#outputs) for (const index of indices) pending.push(results[index] as CompiledResult);
    if (this.#input.isWaiting) this.#sleep();
    if (this.#memory.hasHeldRings) this.#ringSoon();
  }

  poll(isDone: (() => boolean) | undefined): void {
    if (this.#isClosed) return;
    this.#takeIn();
    // An existing waiter already sleeps until it is rung; another wait adds nothing to that, and must not end it.
    if (isDone === undefined || this.#isAwaited || isDone()) return;
    this.#wait.until(() => {
      this.#takeIn();
      return isDone();
    });
    if (this.#input.isWaiting) this.#sleep();
  }

  setAwaited(awaited: boolean): void {
    if (this.#isClosed) return;
    this.#isAwaited = awaited;
    this.#memory.setKeepsProcessAlive(awaited);
    if (awaited) this.#sleep();
    else if (!this.#input.isWaiting) this.#memory.endSleep();
  }

  async close(reason: Error): Promise<void> {
    if (this.#isClosed) return;
    this.#takeIn();
    this.#isClosed = true;
    this.#memory.markClosed();
    for (const { pending } of this.#outputs)
      for (let result = pending.shift(); result !== undefined; result = pending.shift()) result.settle("error", reason);
    this.#memory.close();
    await this.#options.runtime.holdWhile(Promise.all(this.#ended));
    removeGraphFiles(this.#map);
  }

  #processIds(): ProcessId[] {
    const { runtime, planned } = this.#options;
    return [runtime.options.processId, ...planned.actors.map(({ actor }) => actor.processId as ProcessId)];
  }

  #hold(actor: GraphActor, plan: GraphPlan, onFailure: (error: unknown) => void): void {
    const ended = actor.runGraph(plan).catch((error: unknown) => {
      onFailure(error);
      if (!this.#isClosed) this.#options.onActorLost(asError(error));
    });
    this.#ended.push(ended);
  }

  #allJoined(): Promise<void> {
    return new Promise((resolve) => {
      this.#onJoin = () => {
        this.#memory.beginSleep();
        for (let endpoint = 1; endpoint < this.#map.endpoints; endpoint += 1) if (!this.#memory.hasJoined(endpoint)) return;
        this.#memory.endSleep();
        this.#onJoin = undefined;
        resolve();
      };
      this.#onJoin();
    });
  }

  #rung(): void {
    if (this.#isClosed) return;
    this.#onJoin?.();
    this.#takeIn();
    if (this.#isAwaited || this.#input.isWaiting) this.#sleep();
  }

  /** Makes actors ring this process, and takes in earlier results. */
  #sleep(): void {
    this.#memory.beginSleep();
    this.#takeIn();
  }

  #takeIn(): void {
    if (this.#input.isWaiting) this.#input.flush();
    for (const output of this.#outputs) {
      while (!output.isReading && output.reader.next()) this.#takeRecord(output);
    }
    if (this.#memory.hasHeldRings) this.#memory.flushRings();
  }

  /** Inputs are made in batches: one ring for the inputs of a tick, for a number of them, or when somebody waits. */
  #ringSoon(): void {
    this.#unrung += 1;
    if (this.#unrung === 1) process.nextTick(this.#ringNow);
    else if (this.#unrung % INPUTS_A_RING === 0) this.#memory.flushRings();
  }

  #takeRecord(output: Output): void {
    const { reader, indices } = output;
    for (let left = indices.length; left > 0; left -= 1) {
      try {
        const reading = reader.read();
        if (reading !== undefined) {
          this.#takeLater(output, reading);
          return;
        }
      } catch (error) {
        this.#settleNext(output, "error", error);
        continue;
      }
      this.#settleNext(output, reader.isError ? "error" : "value", reader.value);
    }
    reader.advance();
  }

  /** Takes a record whose definitions have to come first: all its results get the same value. */
  #takeLater(output: Output, reading: Promise<void>): void {
    const { reader, indices } = output;
    output.isReading = true;
    const finish = (state: "value" | "error", value: unknown): void => {
      output.isReading = false;
      if (this.#isClosed) return;
      for (let left = indices.length; left > 0; left -= 1) this.#settleNext(output, state, value);
      reader.advance();
      this.#takeIn();
    };
    reading.then(
      () => finish(reader.isError ? "error" : "value", reader.value),
      (error: unknown) => finish("error", error),
    );
  }

  #settleNext({ pending }: Output, state: "value" | "error", value: unknown): void {
    pending.shift()?.settle(state, value);
  }
}
