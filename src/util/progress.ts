/**
 * Progress bars of work that is spread over processes: made in the driver, in tasks and in actors, drawn by the driver.
 *
 * The driver draws, on the board that shows the work of all libraries. A worker sends its changes as a signal (`core/telemetry/output.ts`), which
 * arrives in order with its output, even from code that never yields, and costs no call. Updates are gathered for a tenth of a second. A
 * bar that is sent to another process stays one bar: counts from there are added here.
 */
import { getRuntimeContext } from "../core/index.ts";
import { custom, describeValue, isWorker, number, readOptions, registerSerializer, sendSignal, setSignalSink } from "../core/internal.ts";
import { processBoard, type WorkOutcome } from "../progress/progress-board.ts";
import { ShownBar } from "./shown-bar.ts";

/** The options of a bar. */
export interface ProgressOptions {
  /** Describes the work, before the bar. Default: nothing. */
  description?: string | undefined;
  /** How much there is; an array's length is known. Default: unknown, which shows the count alone. */
  total?: number | undefined;
  /** Unit of the count, in a few letters. Default: `"it"`. */
  unit?: string | undefined;
}

const textOption = (fallback: string): ReturnType<typeof custom<string>> =>
  custom("text is needed", fallback, (value) => (typeof value === "string" ? "ok" : "wrong type"));
const PROGRESS_BAR = {
  of: "a progress bar",
  otherNames: { desc: "it is description" },
  options: {
    description: textOption(""),
    total: number("a number from 0 is needed", undefined, (value) => value >= 0),
    unit: textOption("it"),
  },
};

/** Updates of a worker are gathered for this long. */
const SEND_EVERY_MS = 100;

interface Fixed {
  readonly id: string;
  readonly description: string;
  readonly total: number | undefined;
  readonly unit: string;
}

/** From a worker: the amount to add to a bar, and whether the bar has ended. */
interface Signal extends Fixed {
  readonly add: number;
  readonly isClosed: boolean;
}

let bars = 0;
let factsOf: (bar: ProgressBar) => Fixed;

/** In place of options: the bar exists, and this is another process' way to it. */
class Received {
  readonly fixed: Fixed;
  constructor(fixed: Fixed) {
    this.fixed = fixed;
  }
}

/** A progress bar; see {@link progress}. */
export class ProgressBar implements Disposable {
  readonly #fixed: Fixed;
  /** Only its maker ends it. */
  readonly #isOwn: boolean;
  #count = 0;
  #unsent = 0;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  static {
    factsOf = (bar) => bar.#fixed;
  }

  constructor(options?: ProgressOptions) {
    this.#isOwn = !(options instanceof Received);
    if (options instanceof Received) {
      this.#fixed = options.fixed;
      return;
    }
    bars += 1;
    const place = isWorker() ? getRuntimeContext().workerId : "driver";
    this.#fixed = { id: `${place} ${bars}`, ...readOptions(options, PROGRESS_BAR) };
    this.#send();
  }

  /** Count of this bar in this process. */
  get count(): number {
    return this.#count;
  }

  /** Adds to the count. */
  update(by = 1): void {
    if (typeof by !== "number" || !Number.isFinite(by))
      throw new TypeError(`Cannot update a progress bar: a number is needed: received ${describeValue(by)}`);
    this.#count += by;
    this.#unsent += by;
    if (this.#isClosed) return;
    if (performance.now() - this.#sentAtMs >= SEND_EVERY_MS) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), SEND_EVERY_MS).unref();
  }

  /** Ends the bar: its last state stays. In a process that received it, sends the remaining counts. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#send();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sentAtMs = performance.now();
    const signal: Signal = { ...this.#fixed, add: this.#unsent, isClosed: this.#isClosed && this.#isOwn };
    this.#unsent = 0;
    sendSignal(JSON.stringify(signal));
  }
}

registerSerializer(ProgressBar, { serialize: (bar) => factsOf(bar), deserialize: adoptProgressBar });

/** Exported for the worker alone, which imports it to read a bar. */
export function adoptProgressBar(fixed: Fixed): ProgressBar {
  return new ProgressBar(new Received(fixed) as ProgressOptions);
}

/**
 * A progress bar that the driver draws, wherever the work is: pass it to tasks and actors, or make it there. Around an iterable it counts its values.
 *
 * @example
 * using bar = progress({ description: "files", total: files.length });
 * const parse = remote((file: string) => { const tree = parseFile(file); bar.update(); return tree; });
 * await get(files.map((file) => parse.remote(file)));
 * @example
 * for (const batch of progress(batches, { description: "epoch 1" })) train(batch);
 */
export function progress<T>(values: readonly T[] | Iterable<T>, options?: ProgressOptions): Generator<T, void, undefined>;
export function progress<T>(values: AsyncIterable<T>, options?: ProgressOptions): AsyncGenerator<T, void, undefined>;
export function progress(options?: ProgressOptions): ProgressBar;
export function progress(first?: unknown, options?: ProgressOptions): unknown {
  if (first === undefined || first === null) return new ProgressBar(options);
  if (typeof (first as AsyncIterable<unknown>)[Symbol.asyncIterator] === "function") {
    return countedAsync(first as AsyncIterable<unknown>, options);
  }
  if (typeof (first as Iterable<unknown>)[Symbol.iterator] === "function") {
    const length = Array.isArray(first) ? first.length : (first as { size?: unknown }).size;
    return counted(first as Iterable<unknown>, typeof length === "number" ? { total: length, ...options } : options);
  }
  return new ProgressBar(first);
}

function* counted<T>(values: Iterable<T>, options: ProgressOptions | undefined): Generator<T, void, undefined> {
  const bar = new ProgressBar(options);
  try {
    for (const value of values) {
      yield value;
      bar.update();
    }
  } finally {
    bar.close();
  }
}

async function* countedAsync<T>(values: AsyncIterable<T>, options: ProgressOptions | undefined): AsyncGenerator<T, void, undefined> {
  const bar = new ProgressBar(options);
  try {
    for await (const value of values) {
      yield value;
      bar.update();
    }
  } finally {
    bar.close();
  }
}

// The driver's half adds up the counts. The board draws it.
interface OpenBar {
  readonly bar: ShownBar;
  readonly end: (outcome: WorkOutcome) => void;
}

const open = new Map<string, OpenBar>();

function beginBar(signal: Signal): OpenBar {
  const bar = new ShownBar(signal, performance.now());
  return { bar, end: processBoard().begin(bar) };
}

function receive(signal: Signal): void {
  const { id, add, isClosed } = signal;
  const { bar, end } = open.get(id) ?? beginBar(signal);
  open.set(id, { bar, end });
  bar.add(add);
  // A program that computes in a loop around a bar leaves the board's timer no turn.
  processBoard().refresh();
  if (!isClosed) return;
  open.delete(id);
  end("done");
}

setSignalSink((text) => receive(JSON.parse(text) as Signal));
