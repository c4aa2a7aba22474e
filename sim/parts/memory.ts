/**
 * Tasks that use much memory in simulated programs, on a machine that has not enough for all of them at a time.
 *
 * Holds that all of them end right in the end: each fits alone, and a task that is ended to make room has retries without end. A task
 * without retries fails with the reason.
 */
import { get } from "../../src/index.ts";
import { isOutcome, type TaskSpec } from "../application.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf } from "./part.ts";

/** Memory of one task. A machine has 1000 MB, of which 90 % may be used: one or two tasks fit beside the workers. */
const USED_BYTES = 400e6;

export class MemoryPart implements ProgramPart {
  readonly #context: PartContext;

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    const { app, random, newKey, track, driver, hasFaults } = this.#context;
    const isLimited = random.next() < 0.2;
    const maxRetries = random.pick([0, -1, -1]);
    const spec: TaskSpec = {
      key: newKey("o"),
      ms: 200 + random.next() * 600,
      cpu: 1,
      resources: {},
      maxRetries: isLimited ? 0 : maxRetries,
      children: [],
      after: "forget",
      size: "small",
      fails: false,
      line: [driver.process.name],
      usesBytes: USED_BYTES,
    };
    const ref = app.submit(spec, [], isLimited ? { memoryBytes: 100e6 } : {});
    track(spec.key, async () => {
      try {
        const value = await get(ref);
        if (!isOutcome(value, app.expected(spec, [])))
          this.#context.violate(`${spec.key} gave ${value.n} and not ${app.expected(spec, [])}`);
      } catch (error) {
        const cause = rootOf(error);
        const isExplained =
          (spec.maxRetries === 0 && cause.name === "OutOfMemoryError") ||
          (hasFaults && spec.maxRetries !== -1 && CAUSED_BY_FAULTS.has(cause.name));
        if (!isExplained) this.#context.violate(`${spec.key} with much memory failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
      } finally {
        ref[Symbol.dispose]();
      }
    });
  }

  end(): void {}
}
