/**
 * Cancelled calls in simulated programs: by `cancel` with and without force, by a signal, by a time limit, before, while and after they run.
 *
 * Holds that a cancelled ref settles soon, with the cancellation or with the call's result, and that no other call pays. A worker that is
 * ended for a cancellation costs the worker's other calls no retry (`Application` counts).
 */
import { cancel, get, type TaskOptions } from "../../src/index.ts";
import { isOutcome, type TaskSpec } from "../application.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf, sleep } from "./part.ts";

/** After `cancel` returns the ref has settled, save for messages of one turn. */
const SETTLES_WITHIN_MS = 1;

export class CancellationPart implements ProgramPart {
  readonly #context: PartContext;

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    const { app, random, newKey, track, driver, hasFaults } = this.#context;
    const spec = this.#spec(newKey("x"), 0);
    const manner = random.pick(["cancel", "cancel", "force", "signal", "timeout"] as const);
    const afterMs = random.pick([0, 0, 5, 30, 100]) * random.next();
    const controller = new AbortController();
    const options: TaskOptions =
      manner === "signal" ? { signal: controller.signal } : manner === "timeout" ? { timeoutMs: Math.ceil(afterMs) + 1 } : {};
    driver.process.say(`submits ${spec.key}, to be ended by ${manner} after ${afterMs.toFixed(1)} ms`);
    // From here on the call and its children may be orphans, which count for nothing.
    if (manner === "timeout") app.cancelled.add(spec.key);
    const ref = app.submit(spec, [], options);
    track(spec.key, async () => {
      let settledMs = Number.POSITIVE_INFINITY;
      const settled = get(ref)
        .then((value) => {
          if (!isOutcome(value, app.expected(spec, [])))
            this.#context.violate(`${spec.key} gave ${value.n} and not ${app.expected(spec, [])}`);
        })
        .catch((error: unknown) => {
          const cause = rootOf(error);
          const expected = manner === "timeout" ? "TaskTimeoutError" : "TaskCancelledError";
          const mayDie = (hasFaults && spec.maxRetries !== -1) || spec.children.some(runsOnce);
          const isExplained = cause.name === expected || (mayDie && CAUSED_BY_FAULTS.has(cause.name));
          if (!isExplained)
            this.#context.violate(`${spec.key}, ended by ${manner}, failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
        })
        .finally(() => {
          settledMs = app.world.nowMs;
        });
      if (manner !== "timeout") {
        await sleep(this.#context, afterMs);
        app.cancelled.add(spec.key);
        if (manner === "signal") controller.abort();
        else cancel(ref, { force: manner === "force" });
        const cancelledMs = app.world.nowMs;
        await sleep(this.#context, SETTLES_WITHIN_MS);
        if (settledMs > cancelledMs + SETTLES_WITHIN_MS)
          this.#context.violate(`${spec.key} has not settled when it was ended by ${manner}`);
      }
      await settled;
      ref[Symbol.dispose]();
    });
  }

  end(): void {}

  #spec(key: string, depth: number): TaskSpec {
    const { random, driver } = this.#context;
    return {
      key,
      ms: random.next() * (random.next() < 0.2 ? 5000 : 60),
      cpu: 1,
      resources: {},
      maxRetries: random.pick([0, -1]),
      children: depth < 2 && random.next() < 0.4 ? [this.#spec(`${key}.0`, depth + 1)] : [],
      after: random.pick(["get", "get", "wait", "forget"]),
      size: "small",
      fails: false,
      line: [driver.process.name],
    };
  }
}

/** Whether the task, or one below it, is not run again when its worker is ended for a cancelled task in the same worker. */
function runsOnce(spec: TaskSpec): boolean {
  return spec.maxRetries === 0 || spec.children.some(runsOnce);
}
