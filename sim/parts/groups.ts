/**
 * Placement groups in simulated programs: made, waited for, filled with tasks, removed, sometimes before they are ready or while tasks run in them.
 *
 * Each driver has one group at a time and waits in it for nothing outside, so the groups of several drivers cannot block each other for
 * good. Holds that tasks of a bundle never use more than the bundle has (`Application`). Holds that a group gets its place once the others
 * make room, and that its tasks fail for no other reason than the group's removal.
 */
import { get, type ObjectRef, placementGroup } from "../../src/index.ts";
import { isOutcome, type Outcome, type TaskSpec } from "../application.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf, sleep } from "./part.ts";

/** Other drivers have groups, too, and keep them for some hundred ms each. */
const READY_WITHIN_MS = 60_000;

export class GroupPart implements ProgramPart {
  readonly #context: PartContext;
  #isBusy = false;

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const key = this.#context.newKey("g");
    this.#context.track(key, () =>
      this.#use(key).finally(() => {
        this.#isBusy = false;
      }),
    );
  }

  end(): void {}

  async #use(key: string): Promise<void> {
    const { app, random, driver } = this.#context;
    const cpus = app.nodeCpus;
    const bundles = random.pick([
      [{ CPU: 1 }],
      [{ CPU: 1 }],
      [{ CPU: cpus }],
      cpus > 1 ? [{ CPU: 1 }, { CPU: 1 }] : [{ CPU: 0.5 }, { CPU: 0.5 }],
    ]);
    driver.process.say(`makes group ${key}: ${JSON.stringify(bundles)}`);
    const group = placementGroup(bundles, { strategy: random.pick(["PACK", "SPREAD", "STRICT_PACK"]) });
    const isReadyFirst = random.next() < 0.7;
    if (random.next() < 0.15) {
      await sleep(this.#context, random.next() * 20);
      await group.remove();
      return;
    }
    if (isReadyFirst) {
      const isReady = await group.ready({ timeoutMs: READY_WITHIN_MS }).then(
        () => true,
        (error: unknown) => {
          this.#context.violate(`group ${key} is not ready: ${(error as Error).message}`);
          return false;
        },
      );
      if (!isReady) return;
    }
    const calls: { spec: TaskSpec; ref: ObjectRef<Outcome> }[] = [];
    for (let count = random.below(5); count > 0; count -= 1) {
      const index = random.below(bundles.length);
      const amount = (bundles[index] as { CPU: number }).CPU;
      const spec: TaskSpec = {
        key: `${key}.t${count}`,
        ms: random.next() * 40,
        cpu: Math.min(1, amount),
        resources: {},
        maxRetries: random.pick([0, -1, -1]),
        children: [],
        after: "forget",
        size: random.next() < 0.1 ? "large" : "small",
        fails: false,
        line: [driver.process.name],
        bundle: { key: `${key}/${index}`, cpu: amount },
      };
      calls.push({ spec, ref: app.submit(spec, [], { schedulingStrategy: { placementGroup: group, bundleIndex: index } }) });
    }
    const removesEarly = random.next() < 0.3;
    const checks = calls.map(({ spec, ref }) => this.#check(spec, ref, removesEarly));
    if (removesEarly) {
      await sleep(this.#context, random.next() * 50);
      for (const { spec } of calls) app.cancelled.add(spec.key);
      await group.remove();
      await Promise.all(checks);
    } else {
      await Promise.all(checks);
      await group.remove();
    }
  }

  async #check(spec: TaskSpec, ref: ObjectRef<Outcome>, isRemovedEarly: boolean): Promise<void> {
    const { app, hasFaults } = this.#context;
    try {
      const value = await get(ref);
      if (!isOutcome(value, app.expected(spec, []))) this.#context.violate(`${spec.key} gave ${value.n} and not ${app.expected(spec, [])}`);
    } catch (error) {
      const cause = rootOf(error);
      const isExplained =
        (isRemovedEarly && ["PlacementGroupRemovedError", "WorkerCrashedError"].includes(cause.name)) ||
        (hasFaults && spec.maxRetries !== -1 && CAUSED_BY_FAULTS.has(cause.name));
      if (!isExplained) this.#context.violate(`${spec.key} in a group failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
    } finally {
      ref[Symbol.dispose]();
    }
  }
}
