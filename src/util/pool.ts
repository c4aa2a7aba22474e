/**
 * A pool of processes that map functions over values, like Python's `multiprocessing.Pool`.
 *
 * Cuts values into chunks, and replaces a process after `maxTasksPerChild` chunks, or when it died. A chunk that was with a process that
 * died fails and is not run again, as it may have had effects. Owns its actors: `terminate`, or `close` and `join`, end them. The roster
 * tracks busy and free ones.
 */
import {
  type ActorHandle,
  type ActorOptions,
  clusterResources,
  kill,
  type ObjectRef,
  put,
  remote,
  ShoalError,
  terminate,
} from "../core/index.ts";
import { asError, callable, count, custom, describeValue, readOptions } from "../core/internal.ts";
import { KeptResults } from "./kept-results.ts";
import { type ChunkCall, PoolWorker } from "./pool-worker.ts";
import { type AnyIterable, readAhead, requireIterable } from "./read-ahead.ts";
import { hasDied, Roster, type Ticket } from "./roster.ts";

type AnyFunction = (...args: never[]) => unknown;
type Worker = ActorHandle<PoolWorker>;

/** Chunks for each process of a `map` without `chunkSize`: enough to even out uneven run times, few enough to cost nothing. */
const CHUNKS_PER_PROCESS = 4;
/** Chunks that `imap` begins ahead of the results that were taken, for each process. */
const AHEAD_PER_PROCESS = 4;
/** Functions that a process keeps; the oldest is dropped, as programs often map a new arrow function each time. */
const FUNCTIONS_MAX = 32;
/** Processes that may die in a row without an answer. Beyond it, the cause kills all of them, and new ones are no help. */
const DEATHS_MAX = 3;

/** The options of `new Pool`. */
export interface PoolOptions {
  /** How many processes. Default: the CPUs of the cluster. */
  processes?: number | undefined;
  /** Called once in each process before its first work; a promise that it returns is awaited. Default: none. */
  initializer?: ((...args: any[]) => unknown) | undefined;
  /** The arguments of `initializer`. Default: none. */
  initializerArgs?: readonly unknown[] | undefined;
  /** After how many chunks a process is replaced by a new one. Default: never. */
  maxTasksPerChild?: number | undefined;
  /** Options of the actors, such as `numCpus` or `resources`. Default: those of actors. */
  actorOptions?: ActorOptions | undefined;
}

/** How values are sent. */
export interface ChunkOptions {
  /** Values that are sent and answered together. Default: for `map` and `starmap` a quarter of a process' share, for `imap` 1. */
  chunkSize?: number | undefined;
}

const POOL = {
  of: "a pool",
  otherNames: { maxtasksperchild: "it is maxTasksPerChild", initargs: "it is initializerArgs", ray_remote_args: "it is actorOptions" },
  options: {
    processes: count({ min: 1 }, undefined),
    initializer: callable<AnyFunction>("a function is needed"),
    initializerArgs: custom<readonly unknown[]>("an array is needed", [], (value) => (Array.isArray(value) ? "ok" : "wrong type")),
    maxTasksPerChild: count({ min: 1 }, undefined),
    actorOptions: custom<ActorOptions>("an object is needed", {}, (value) =>
      typeof value === "object" && value !== null ? "ok" : "wrong type",
    ),
  },
};
const CHUNK = { of: "a pool's map", options: { chunkSize: count({ min: 1 }, undefined) } };

/**
 * A fixed number of processes that run functions on values. All results are promises: Python's `map_async` is `map` without an `await`.
 *
 * Captured variables of a function are taken when the pool first sees it. Its errors arrive as the cause of a `TaskError`.
 *
 * @example
 * await using pool = new Pool({ processes: 4 });
 * const sizes = await pool.map((file) => readFileSync(file).length, files);
 */
export class Pool implements AsyncDisposable {
  readonly #roster: Roster<Worker>;
  readonly #options: { initializer: AnyFunction | undefined; initializerArgs: readonly unknown[]; maxTasksPerChild: number | undefined };
  readonly #newWorker: (initializer: AnyFunction | undefined, args: readonly unknown[]) => Worker;
  readonly #functions = new WeakMap<AnyFunction, ObjectRef<AnyFunction>>();
  /** The functions that each process has, by id, oldest first. */
  readonly #kept = new WeakMap<Worker, Set<string>>();
  /** Chunks that each process has answered. */
  readonly #answered = new WeakMap<Worker, number>();
  readonly #open = new Set<Promise<unknown>>();
  /** Iterations of `imap` that their readers have not ended. */
  readonly #iterations = new Set<KeptResults<unknown>>();
  readonly #started: Promise<void>;
  #processes = 1;
  #deaths = 0;
  #phase: "open" | "closed" | "terminated" = "open";

  /** @throws TypeError for an unknown option or a value of a wrong type, RangeError for one out of range */
  constructor(options?: PoolOptions) {
    const { processes, actorOptions, ...rest } = readOptions(options, POOL);
    this.#options = rest;
    const workerClass = remote(PoolWorker, actorOptions);
    this.#newWorker = (initializer, args) => workerClass.remote(initializer, args);
    this.#roster = new Roster<Worker>({
      isDead: hasDied,
      onFree: (worker) => this.#isFree(worker),
      onDied: () => this.#replaceDead(),
    });
    if (processes !== undefined) this.#start(processes);
    this.#started = processes === undefined ? this.#startOnAllCpus() : Promise.resolve();
    this.#started.catch(() => {});
  }

  /** How many processes it has, or will have once it knows the CPUs of the cluster. */
  get processes(): number {
    return this.#processes;
  }

  /** The results of the function for all values, in their order. The first failure rejects, and chunks that have not begun never do. */
  map<V, R>(fn: (value: V) => R, values: Iterable<V>, options?: ChunkOptions): Promise<Awaited<R>[]> {
    return this.#mapAll<Awaited<R>>({ fn, form: "one" }, values, options);
  }

  /** Like `map`, for functions of several parameters: each value is the list of arguments. */
  starmap<A extends readonly unknown[], R>(fn: (...args: A) => R, values: Iterable<A>, options?: ChunkOptions): Promise<Awaited<R>[]> {
    return this.#mapAll<Awaited<R>>({ fn, form: "several" }, values, options);
  }

  /**
   * Like `map`, with results one by one, in the order of the values. Values are taken as results are, so they may be without end: at most four chunks for
   * each process are ahead. `join` computes all that is left, and keeps it for the reader.
   */
  imap<V, R>(fn: (value: V) => R, values: AnyIterable<V>, options?: ChunkOptions): AsyncGenerator<Awaited<R>, void, undefined> {
    return this.#iterate<Awaited<R>>({ fn, ordered: true }, values, options);
  }

  /** Like `imap`, with each result as soon as it is available. */
  imapUnordered<V, R>(fn: (value: V) => R, values: AnyIterable<V>, options?: ChunkOptions): AsyncGenerator<Awaited<R>, void, undefined> {
    return this.#iterate<Awaited<R>>({ fn, ordered: false }, values, options);
  }

  /** Calls the function once, in some process. */
  async apply<A extends readonly unknown[], R>(
    fn: (...args: A) => R,
    ...[args]: A extends readonly [] ? [args?: A] : [args: A]
  ): Promise<Awaited<R>> {
    this.#requireOpen("apply a function in a pool", fn);
    if (args !== undefined && !Array.isArray(args))
      throw new TypeError(`Cannot apply a function in a pool: its arguments must be an array: received ${describeValue(args)}`);
    const [result] = await this.#run({ fn, form: "several" }, [args ?? []]).result;
    return result as Awaited<R>;
  }

  /** Takes no more work; accepted work is finished. */
  close(): void {
    if (this.#phase === "open") this.#phase = "closed";
  }

  /** Ends all processes at once: work under way fails. */
  async terminate(): Promise<void> {
    if (this.#phase === "terminated") return;
    this.#phase = "terminated";
    await this.#started.catch(() => {});
    const workers = [...this.#roster];
    this.#roster.end(endedError());
    await Promise.all(workers.map((worker) => kill(worker)));
  }

  /** Resolves when all work is done and all processes have ended. @throws ShoalError before `close` or `terminate` */
  async join(): Promise<void> {
    if (this.#phase === "open") {
      throw new ShoalError("Cannot join a pool: it still takes work", { reason: "it is open", hint: "Call close() or terminate() first." });
    }
    await this.#started.catch(() => {});
    if (this.#phase === "closed") await Promise.all(Array.from(this.#iterations, (iteration) => iteration.finish()));
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
    await Promise.all([...this.#roster].map((worker) => terminate(worker)));
  }

  /** The end of `await using`: like `terminate` and `join`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.terminate();
    await this.join();
  }

  async #startOnAllCpus(): Promise<void> {
    try {
      const { CPU = 1 } = await clusterResources();
      this.#start(Math.max(1, Math.floor(CPU)));
    } catch (error) {
      this.#roster.end(asError(error));
      throw error;
    }
  }

  #start(processes: number): void {
    this.#processes = processes;
    for (let index = 0; index < processes; index += 1) this.#addWorker();
  }

  #addWorker(): void {
    this.#roster.add(this.#newWorker(this.#options.initializer, this.#options.initializerArgs));
  }

  async #mapAll<R>(
    call: { fn: AnyFunction; form: ChunkCall["form"] },
    values: Iterable<unknown>,
    options: ChunkOptions | undefined,
  ): Promise<R[]> {
    this.#requireOpen("map in a pool", call.fn);
    requireIterable(values, "map in a pool");
    const items = Array.from(values);
    // Checked before the wait, and cut after it: the size of a chunk depends on the processes.
    const { chunkSize } = readOptions(options, CHUNK);
    const mapped = this.#started.then(() => {
      const size = chunkSize ?? Math.max(1, Math.ceil(items.length / (this.#processes * CHUNKS_PER_PROCESS)));
      const tickets: Ticket<unknown[]>[] = [];
      for (let start = 0; start < items.length; start += size) tickets.push(this.#run(call, items.slice(start, start + size)));
      return Promise.all(tickets.map((ticket) => ticket.result)).catch((error: unknown) => {
        for (const ticket of tickets) ticket.drop();
        throw error;
      });
    });
    return (await this.#track(mapped)).flat() as R[];
  }

  #iterate<R>(
    call: { fn: AnyFunction; ordered: boolean },
    values: AnyIterable<unknown>,
    options: ChunkOptions | undefined,
  ): AsyncGenerator<R, void, undefined> {
    const { fn, ordered } = call;
    this.#requireOpen("map in a pool", fn);
    requireIterable(values, "map in a pool");
    const { chunkSize } = readOptions(options, CHUNK);
    const chunks = readAhead<unknown, unknown[]>(chunkSize === undefined ? values : inChunks(values, chunkSize), {
      begin: (item) => this.#run({ fn, form: "one" }, chunkSize === undefined ? [item] : (item as unknown[])),
      window: () => this.#processes * AHEAD_PER_PROCESS,
      ordered,
    });
    const results = flattened(chunks as AsyncGenerator<R[], void, undefined>);
    const iteration = new KeptResults<R>(results, () => this.#iterations.delete(iteration));
    this.#iterations.add(iteration);
    return iteration.read();
  }

  #run({ fn, form }: { fn: AnyFunction; form: ChunkCall["form"] }, items: readonly unknown[]): Ticket<unknown[]> {
    const reference = this.#referenceTo(fn);
    const ticket = this.#roster.run((worker) => this.#call(worker, { reference, form }, items));
    void this.#track(ticket.result);
    return ticket;
  }

  /** Sends the function along if the process has not had it. */
  async #call(
    worker: Worker,
    { reference, form }: { reference: ObjectRef<AnyFunction>; form: ChunkCall["form"] },
    items: readonly unknown[],
  ): Promise<unknown[]> {
    const { id } = reference;
    let kept = this.#kept.get(worker);
    if (kept === undefined) {
      kept = new Set();
      this.#kept.set(worker, kept);
    }
    if (kept.has(id)) return worker.run.remote({ id, form }, items);
    const forget = Array.from(kept).slice(0, Math.max(0, kept.size + 1 - FUNCTIONS_MAX));
    for (const old of forget) kept.delete(old);
    try {
      const results = await worker.run.remote({ id, form, reference: [reference], forget }, items);
      kept.add(id);
      return results;
    } catch (error) {
      // The arrival is uncertain, so the function is sent again next time.
      kept.delete(id);
      throw error;
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#open.add(work);
    const over = (): void => {
      this.#open.delete(work);
    };
    work.then(over, over);
    return work;
  }

  #referenceTo(fn: AnyFunction): ObjectRef<AnyFunction> {
    let reference = this.#functions.get(fn);
    if (reference === undefined) {
      reference = put(fn);
      this.#functions.set(fn, reference);
    }
    return reference;
  }

  /** Counts the answers of a process, and replaces it after enough of them. */
  #isFree(worker: Worker): boolean {
    const answered = this.#answered.get(worker);
    this.#answered.set(worker, answered === undefined ? 0 : answered + 1);
    if (answered !== undefined) this.#deaths = 0;
    if (answered === undefined || answered + 1 < (this.#options.maxTasksPerChild ?? Number.POSITIVE_INFINITY)) return true;
    void this.#track(terminate(worker));
    if (this.#phase !== "terminated") this.#addWorker();
    return false;
  }

  #replaceDead(): void {
    this.#deaths += 1;
    if (this.#phase !== "terminated" && this.#deaths <= Math.max(DEATHS_MAX, this.#processes)) this.#addWorker();
  }

  #requireOpen(action: string, fn: unknown): void {
    if (typeof fn !== "function") throw new TypeError(`Cannot ${action}: a function is needed: received ${describeValue(fn)}`);
    if (this.#phase !== "open") throw endedError(action);
  }
}

async function* flattened<R>(chunks: AsyncGenerator<R[], void, undefined>): AsyncGenerator<R, void, undefined> {
  for await (const results of chunks) yield* results;
}

async function* inChunks(values: AnyIterable<unknown>, size: number): AsyncGenerator<unknown[], void, undefined> {
  let chunk: unknown[] = [];
  for await (const value of values) {
    chunk.push(value);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

function endedError(action = "finish the work of a pool"): ShoalError {
  return new ShoalError(`Cannot ${action}: the pool has ended`, {
    reason: "close() or terminate() was called",
    hint: "Make a new Pool, or call close() and join() when all work is given.",
  });
}
