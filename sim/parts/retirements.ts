/**
 * Workers that retire in simulated programs: functions of which a process runs only so many calls, and computing tasks that are stopped half way.
 *
 * Tasks come in bursts of one shape, so that some wait and a retiring worker has several leases of one program. `Application` checks that nothing begins in a
 * retiring worker. The part checks the results, and that each burst ends: a lease that is not given back keeps the next worker away.
 */
import { cancel, get, type ObjectRef, remote, type TaskOptions } from "../../src/index.ts";
import { currentProcess } from "../ambient.ts";
import { type Application, isOutcome, mix, type Outcome, type TaskSpec } from "../application.ts";
import type { SimulatedProcess } from "../world.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf, sleep } from "./part.ts";

interface ComputingSpec {
  readonly key: string;
  readonly maxRetries: number;
  readonly ms: number;
  /** When its program cancels it. */
  readonly cancelledAtMs: number;
  /** After so long a signal stops it that nobody sent here. */
  readonly stoppedAfterMs: number;
}

type ComputingFunction = { options(options: TaskOptions): { remote(spec: ComputingSpec): ObjectRef<Outcome> } };

/** From when its caller cancels a task until the signal comes. */
const SIGNAL_AFTER_MS = 1;

const functions = new WeakMap<Application, ComputingFunction>();

function computingFunction(app: Application): ComputingFunction {
  let found = functions.get(app);
  if (found === undefined) {
    const compute = function compute(spec: ComputingSpec): Outcome | undefined {
      const process = currentProcess() as SimulatedProcess;
      if (process.isDoomed) return undefined;
      app.begins(spec, { hasInputs: false, isKept: false });
      const untilCancelledMs = spec.cancelledAtMs + SIGNAL_AFTER_MS - process.nowMs();
      const isCancelled = untilCancelledMs > SIGNAL_AFTER_MS && untilCancelledMs < spec.ms;
      const stoppedAfterMs = isCancelled ? untilCancelledMs : spec.stoppedAfterMs;
      process.compute(Math.min(spec.ms, stoppedAfterMs));
      if (stoppedAfterMs < spec.ms) {
        process.say(`is stopped in ${spec.key}`);
        throw app.stops({ isCancelled });
      }
      return { n: mix(spec.key, []), bytes: undefined, refs: [] };
    };
    found = remote(compute) as unknown as ComputingFunction;
    functions.set(app, found);
  }
  return found;
}

export class RetirementPart implements ProgramPart {
  readonly #context: PartContext;

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    const { random } = this.#context;
    if (random.next() < 0.3) {
      this.#waiters();
      return;
    }
    for (let count = 1 + random.below(4); count > 0; count -= 1) {
      if (random.next() < 0.35) this.#compute();
      else this.#limited();
    }
  }

  end(): void {}

  /** A task of whose kind a process runs so many and no more; some of them wait for others. */
  #limited(): void {
    const { app, newKey } = this.#context;
    const spec = this.#spec(newKey("l"), 0);
    this.#check(app.submit(spec, []), spec, []);
  }

  /**
   * Some tasks wait for one that comes after them, so that their worker is leased again for each. The one that they wait for is its worker's last: the leases are revoked, and the
   * tasks end together while others are queued.
   */
  #waiters(): void {
    const { app, random, newKey } = this.#context;
    const specOf = (cpu: number, maxCalls?: number): TaskSpec => ({
      ...this.#spec(newKey("l"), Number.POSITIVE_INFINITY),
      ms: random.next(),
      cpu,
      maxRetries: -1,
      ...(maxCalls === undefined ? {} : { maxCalls }),
    });
    const first = { ...specOf(0), ms: 10 + random.next() * 60 };
    const last = specOf(1, 1);
    const firstRef = app.submit(first, []);
    const lastRef = app.submit(last, [firstRef]);
    const firstN = app.expected(first, []);
    const lastN = app.expected(last, [firstN]);
    for (let count = 1 + random.below(4); count > 0; count -= 1) {
      const spec = specOf(1);
      this.#check(app.submit(spec, [{ ref: lastRef, reads: true }]), spec, [lastN]);
    }
    for (let count = random.below(4); count > 0; count -= 1) {
      const spec = specOf(1);
      this.#check(app.submit(spec, [lastRef]), spec, [lastN]);
    }
    this.#check(firstRef, first, []);
    this.#check(lastRef, last, [firstN]);
  }

  #check(ref: ObjectRef<Outcome>, spec: TaskSpec, inputs: readonly number[]): void {
    const { app, track } = this.#context;
    const expected = app.expected(spec, inputs);
    track(spec.key, async () => {
      try {
        const value = await get(ref);
        if (!isOutcome(value, expected)) this.#context.violate(`${spec.key} gave ${value.n} and not ${expected}`);
      } catch (error) {
        this.#explain(error, spec.key, mayDie(spec));
      } finally {
        ref[Symbol.dispose]();
      }
    });
  }

  #spec(key: string, depth: number): TaskSpec {
    const { random, driver } = this.#context;
    const maxCalls = depth > 2 ? undefined : random.pick([undefined, 1, 1, 2, 3]);
    return {
      key,
      ms: random.next() * random.pick([1, 1, 30]),
      cpu: 1,
      resources: {},
      maxRetries: random.pick([0, -1]),
      children: depth < 2 && random.next() < 0.5 ? [this.#spec(`${key}.0`, depth + 1)] : [],
      after: "get",
      size: "small",
      fails: false,
      line: [driver.process.name],
      ...(maxCalls === undefined ? {} : { maxCalls }),
    };
  }

  #compute(): void {
    const { app, random, newKey, track, driver } = this.#context;
    const manner = random.pick(["signal", "cancel", "neither"] as const);
    const ms = 5 + random.next() * 60;
    const cancelledAfterMs = manner === "cancel" ? random.next() * 80 : Number.POSITIVE_INFINITY;
    const spec: ComputingSpec = {
      key: newKey("i"),
      maxRetries: random.pick([0, -1]),
      ms,
      cancelledAtMs: app.world.nowMs + cancelledAfterMs,
      stoppedAfterMs: manner === "signal" ? random.next() * ms : Number.POSITIVE_INFINITY,
    };
    driver.process.say(`submits ${spec.key}, which computes for ${ms.toFixed(1)} ms (${manner} after ${cancelledAfterMs.toFixed(1)} ms)`);
    const ref = computingFunction(app).options({ maxRetries: spec.maxRetries, numCpus: 1 }).remote(spec);
    track(spec.key, async () => {
      const settled = get(ref)
        .then((value: Outcome | undefined) => {
          // Where its program stood still meanwhile, the answer to the cancelled call came before it had cancelled it.
          if (value === undefined && manner === "cancel") return;
          if (value === undefined || !isOutcome(value, mix(spec.key, []))) this.#context.violate(`${spec.key} gave ${String(value?.n)}`);
        })
        .catch((error: unknown) => {
          if (rootOf(error).name === "TaskCancelledError" && manner !== "neither") return;
          this.#explain(error, spec.key, spec.maxRetries === 0);
        });
      if (manner === "cancel") {
        await sleep(this.#context, cancelledAfterMs);
        cancel(ref, { force: false });
      }
      await settled;
      ref[Symbol.dispose]();
    });
  }

  #explain(error: unknown, key: string, dies: boolean): void {
    const { hasFaults, violate } = this.#context;
    const cause = rootOf(error);
    if (!(hasFaults && dies && CAUSED_BY_FAULTS.has(cause.name)))
      violate(`${key} failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
  }
}

function mayDie(spec: TaskSpec): boolean {
  return spec.maxRetries === 0 || spec.children.some(mayDie);
}
