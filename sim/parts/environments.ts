/**
 * Tasks in runtime environments in simulated programs: built by a builder that takes its time and sometimes fails.
 *
 * Holds that a task runs in a worker with the same environment and no other (`Application`), and that a failed build fails the tasks that
 * waited for that build and nothing else.
 */
import { get } from "../../src/index.ts";
import { isOutcome, type TaskSpec } from "../application.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf } from "./part.ts";

const SETTINGS = ["1", "2"] as const;

export class EnvironmentPart implements ProgramPart {
  readonly #context: PartContext;

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    const { app, random, newKey, track, driver, hasFaults } = this.#context;
    const setting = random.pick(SETTINGS);
    const spec: TaskSpec = {
      key: newKey("e"),
      ms: random.next() * 30,
      cpu: 1,
      resources: {},
      maxRetries: random.pick([0, -1, -1]),
      children: [],
      after: "forget",
      size: "small",
      fails: false,
      line: [driver.process.name],
      setting,
    };
    const ref = app.submit(spec, [], { runtimeEnv: { envVars: { SIMULATED: setting } } });
    track(spec.key, async () => {
      try {
        const value = await get(ref);
        if (!isOutcome(value, app.expected(spec, [])))
          this.#context.violate(`${spec.key} gave ${value.n} and not ${app.expected(spec, [])}`);
      } catch (error) {
        const cause = rootOf(error);
        const isExplained = hasFaults && (cause.name === "RuntimeEnvError" || (spec.maxRetries !== -1 && CAUSED_BY_FAULTS.has(cause.name)));
        if (!isExplained) this.#context.violate(`${spec.key} in an environment failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
      } finally {
        ref[Symbol.dispose]();
      }
    });
  }

  end(): void {}
}
