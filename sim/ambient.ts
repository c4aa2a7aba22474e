/**
 * Stands in for the system around a simulated process: timers, the clock, the collector, `process.exit`, and "the" runtime.
 *
 * Shoal's code runs unchanged. The globals that it uses look up the running simulated process, by an async context that follows every
 * await, and go to that process. Outside of any simulated process they are the originals. So a timer of a killed process never fires, and
 * each process has its own runtime although all share one heap. Must be imported before anything of `src`, since some modules make
 * finalizers when they are loaded.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** The part of a simulated process that the globals need; `world.ts` has the rest. */
export interface AmbientProcess {
  readonly name: string;
  readonly isAlive: boolean;
  nowMs(): number;
  schedule(delayMs: number, action: () => void): { cancel(): void };
  exit(code: number): void;
  printed(text: string): void;
  readonly finalizers: Finalizers;
  runtime: unknown;
}

const running = new AsyncLocalStorage<AmbientProcess>();

export function currentProcess(): AmbientProcess | undefined {
  return running.getStore();
}

/** Runs code as a process, without the caller's async context. */
export function runAs<T>(process: AmbientProcess, body: () => T): T {
  return running.run(process, body);
}

type Action = (...args: unknown[]) => void;

/** The part of a Node timer that Shoal uses. */
class VirtualTimer {
  #scheduled: { cancel(): void } | undefined;

  constructor(action: Action, timing: { delayMs: number; repeats: boolean; args: unknown[] }) {
    const owner = running.getStore() as AmbientProcess;
    const resume = AsyncLocalStorage.snapshot();
    const delayMs = Math.max(timing.delayMs, timing.repeats ? 1 : 0);
    const fire = (): void => {
      this.#scheduled = timing.repeats ? owner.schedule(delayMs, fire) : undefined;
      resume(action, ...timing.args);
    };
    this.#scheduled = owner.schedule(delayMs, fire);
  }

  cancel(): void {
    this.#scheduled?.cancel();
    this.#scheduled = undefined;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

/** The handles that a process watches, so that the simulation decides when they are collected. */
export class Finalizers {
  readonly #watched = new Map<number, { token: object | undefined; run: () => void }>();
  #next = 0;

  get size(): number {
    return this.#watched.size;
  }

  watch(token: object | undefined, run: () => void): void {
    this.#watched.set(this.#next, { token, run });
    this.#next += 1;
  }

  unwatch(token: object): boolean {
    let found = false;
    for (const [key, watched] of this.#watched) {
      if (watched.token !== token) continue;
      this.#watched.delete(key);
      found = true;
    }
    return found;
  }

  /** Everything that is watched now is collected: for a process whose program is over. */
  collectAll(): void {
    const collected = Array.from(this.#watched.values());
    this.#watched.clear();
    for (const { run } of collected) run();
  }
}

const realSetImmediate = globalThis.setImmediate;
const originals = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
  now: performance.now.bind(performance),
  exit: process.exit.bind(process),
  write: process.stderr.write.bind(process.stderr),
  FinalizationRegistry: globalThis.FinalizationRegistry,
};

/** Resolves when everything that is due without a timer (microtasks, ticks) has run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => realSetImmediate(resolve));
}

/** Real milliseconds, also inside a simulated process. */
export function realNowMs(): number {
  return originals.now();
}

function install(): void {
  const timers = globalThis as unknown as Record<string, unknown>;
  const starter =
    (repeats: boolean, real: (...all: never[]) => unknown) =>
    (action: Action, delayMs = 0, ...args: unknown[]): unknown => {
      if (running.getStore() === undefined) return (real as unknown as (...all: unknown[]) => unknown)(action, delayMs, ...args);
      return new VirtualTimer(action, { delayMs, repeats, args });
    };
  const stopper =
    (real: (timer: never) => void) =>
    (timer: unknown): void => {
      if (timer instanceof VirtualTimer) timer.cancel();
      else real(timer as never);
    };
  timers["setTimeout"] = starter(false, originals.setTimeout);
  timers["setInterval"] = starter(true, originals.setInterval);
  timers["setImmediate"] = (action: Action, ...args: unknown[]): unknown => {
    if (running.getStore() === undefined) return realSetImmediate(action, ...args);
    return new VirtualTimer(action, { delayMs: 0, repeats: false, args });
  };
  timers["clearTimeout"] = stopper(originals.clearTimeout);
  timers["clearInterval"] = stopper(originals.clearInterval);
  performance.now = () => running.getStore()?.nowMs() ?? originals.now();
  process.exit = ((code?: number) => {
    const simulated = running.getStore();
    if (simulated === undefined) return originals.exit(code);
    simulated.exit(code ?? 0);
    return undefined;
  }) as typeof process.exit;
  process.stderr.write = ((...all: Parameters<typeof originals.write>) => {
    const simulated = running.getStore();
    if (simulated === undefined) return originals.write(...all);
    simulated.printed(String(all[0]));
    return true;
  }) as typeof process.stderr.write;
  globalThis.FinalizationRegistry = SimulatedRegistry as unknown as typeof FinalizationRegistry;
  // Each process has its own runtime behind the symbol by which the API finds it (core/current-runtime.ts).
  Object.defineProperty(globalThis, Symbol.for("shoal.runtime.1"), {
    configurable: true,
    get: () => running.getStore()?.runtime,
    set: (runtime: unknown) => {
      const simulated = running.getStore();
      if (simulated !== undefined) simulated.runtime = runtime;
    },
  });
}

/** Watches handles of simulated processes for the simulation, and all others for V8. */
class SimulatedRegistry<T> {
  readonly #cleanup: (held: T) => void;
  readonly #real: FinalizationRegistry<T>;

  constructor(cleanup: (held: T) => void) {
    this.#cleanup = cleanup;
    this.#real = new originals.FinalizationRegistry<T>(cleanup);
  }

  register(target: WeakKey, held: T, token?: WeakKey): void {
    const simulated = running.getStore();
    if (simulated === undefined) this.#real.register(target, held, token);
    else simulated.finalizers.watch(token as object | undefined, () => this.#cleanup(held));
  }

  unregister(token: WeakKey): boolean {
    return running.getStore()?.finalizers.unwatch(token as object) ?? this.#real.unregister(token);
  }
}

install();
