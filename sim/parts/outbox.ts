/**
 * Answers of workers that die in simulated programs: calls so quick that many are answered in one turn, one of which is the end of their process.
 *
 * Tasks, calls of an actor, and items of a generator come in bursts. In runs with this part workers have outboxes. The part checks that an answer in an outbox arrives: the call
 * neither fails with its worker nor runs again, and the objects that the call stored and put can be read.
 */
import { type ActorOptions, get, type ObjectRef, type ObjectRefGenerator, put, remote, type TaskOptions } from "../../src/index.ts";
import { currentProcess } from "../ambient.ts";
import { type Application, bytesOf, isOutcome, mix, type Outcome } from "../application.ts";
import type { SimulatedProcess } from "../world.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf } from "./part.ts";

interface QuickSpec {
  readonly key: string;
  readonly maxRetries: number;
  readonly gives: "small" | "large" | "put";
  /** The first attempt ends its process, at once or at a later point of the turn. */
  readonly dies: "here" | "later" | undefined;
}

interface BurstSpec {
  readonly key: string;
  readonly count: number;
  /** The process ends after so many items. */
  readonly diesAfter: number;
}

interface QuickActor extends Disposable {
  readonly call: { remote(spec: QuickSpec): ObjectRef<Outcome> };
}

interface Functions {
  readonly quick: { options(options: TaskOptions): { remote(spec: QuickSpec): ObjectRef<Outcome> } };
  readonly burst: { options(options: TaskOptions): { remote(spec: BurstSpec): ObjectRefGenerator<Outcome> } };
  readonly actor: { options(options: ActorOptions): { remote(): QuickActor } };
}

const functions = new WeakMap<Application, Functions>();

function outcomeOf({ key, gives }: QuickSpec): Outcome {
  const n = mix(key, []);
  const refs = gives === "put" ? [put<Outcome>({ n, bytes: bytesOf(n), refs: [] })] : [];
  // The result is encoded after this function has ended.
  if (refs.length > 0) (currentProcess() as SimulatedProcess).schedule(50, () => refs.forEach((ref) => ref[Symbol.dispose]()));
  return { n, bytes: gives === "large" ? bytesOf(n) : undefined, refs };
}

function functionsOf(app: Application): Functions {
  let found = functions.get(app);
  if (found === undefined) {
    const run = (spec: QuickSpec): Outcome | undefined => {
      const process = currentProcess() as SimulatedProcess;
      if (process.isDoomed) return undefined;
      const attempt = app.begins(spec, { hasInputs: false, isKept: spec.gives === "small" });
      if (attempt === 1 && spec.dies === "here") process.diesHere();
      if (attempt === 1 && spec.dies === "later") process.diesInTurn();
      return outcomeOf(spec);
    };
    const quick = function quick(spec: QuickSpec): Outcome | undefined {
      return run(spec);
    };
    const burst = function* burst(spec: BurstSpec): Generator<Outcome> {
      const process = currentProcess() as SimulatedProcess;
      if (process.isDoomed) return;
      app.begins({ key: spec.key, maxRetries: 0 }, { hasInputs: false, isKept: true });
      for (let index = 0; index < spec.count; index += 1) {
        if (index === spec.diesAfter) process.diesHere();
        yield { n: mix(`${spec.key}/${index}`, []), bytes: undefined, refs: [] };
      }
    };
    const QuickActor = class QuickActor {
      call(spec: QuickSpec): Outcome | undefined {
        return run(spec);
      }
    };
    found = { quick: remote(quick), burst: remote(burst), actor: remote(QuickActor) } as unknown as Functions;
    functions.set(app, found);
  }
  return found;
}

export class OutboxPart implements ProgramPart {
  readonly #context: PartContext;

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    const { random } = this.#context;
    const draw = random.next();
    if (draw < 0.5) this.#tasks();
    else if (draw < 0.8) this.#calls();
    else this.#items();
  }

  end(): void {}

  #specs(kind: string): QuickSpec[] {
    const { random, newKey } = this.#context;
    const count = 1 + random.below(12);
    const deadly = random.next() < 0.7 ? random.below(count) : -1;
    const dies = random.pick(["here", "later", "later"] as const);
    const maxRetries = random.pick([0, 0, -1]);
    return Array.from({ length: count }, (_, index) => ({
      key: newKey(kind),
      maxRetries,
      gives: random.pick(["small", "small", "small", "large", "put"] as const),
      dies: index === deadly ? dies : undefined,
    }));
  }

  #tasks(): void {
    const { app, driver } = this.#context;
    const specs = this.#specs("q");
    driver.process.say(`submits ${specs.length} quick tasks from ${specs[0]?.key}`);
    for (const spec of specs) this.#check(spec, functionsOf(app).quick.options({ maxRetries: spec.maxRetries, numCpus: 1 }).remote(spec));
  }

  #calls(): void {
    const { app, driver, random } = this.#context;
    const specs = this.#specs("r");
    const actor = functionsOf(app)
      .actor.options({ maxRestarts: random.pick([0, -1]), maxTaskRetries: specs[0]?.maxRetries ?? 0, numCpus: 0 })
      .remote();
    driver.process.say(`makes ${specs.length} quick calls of an actor from ${specs[0]?.key}`);
    // Without a restart nothing is sure.
    for (const spec of specs) this.#check(spec, actor.call.remote(spec), { isActor: true });
    actor[Symbol.dispose]();
  }

  #check(spec: QuickSpec, ref: ObjectRef<Outcome>, { isActor = false } = {}): void {
    const { app, track, violate } = this.#context;
    const n = mix(spec.key, []);
    track(spec.key, async () => {
      try {
        const value = await get(ref);
        if (!isOutcome(value, n)) violate(`${spec.key} gave ${value.n} and not ${n}`);
        for (const inner of value.refs) {
          const read = await get(inner);
          if (!isOutcome(read, n)) violate(`what ${spec.key} had put is ${read.n} and not ${n}`);
          inner[Symbol.dispose]();
        }
      } catch (error) {
        const cause = rootOf(error);
        const mayFail = (spec.maxRetries !== -1 || isActor || spec.gives !== "small") && CAUSED_BY_FAULTS.has(cause.name);
        if (!mayFail) violate(`${spec.key} failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
        else if (app.rests.mustHaveArrived(spec.key))
          violate(`${spec.key} failed with ${cause.name} although its answer was in the outbox: ${cause.message.split("\n")[0]}`);
      } finally {
        ref[Symbol.dispose]();
      }
    });
  }

  #items(): void {
    const { app, driver, newKey, random, track, violate } = this.#context;
    const count = 1 + random.below(20);
    const spec: BurstSpec = { key: newKey("b"), count, diesAfter: random.next() < 0.5 ? random.below(count) : count };
    driver.process.say(`begins ${spec.key}, a burst of ${count} items that dies after ${spec.diesAfter}`);
    const generator = functionsOf(app).burst.options({ maxRetries: 0, numCpus: 1 }).remote(spec);
    track(spec.key, async () => {
      let index = 0;
      try {
        for await (const value of generator) {
          const n = mix(`${spec.key}/${index}`, []);
          if (!isOutcome(value, n)) violate(`item ${index} of ${spec.key} is ${value.n} and not ${n}`);
          index += 1;
        }
        if (index !== count) violate(`${spec.key} gave ${index} items and not ${count}`);
      } catch (error) {
        const cause = rootOf(error);
        if (!CAUSED_BY_FAULTS.has(cause.name)) violate(`${spec.key} failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
        const least = app.rests.itemsOf(spec.key);
        if (index < least) violate(`${spec.key} gave ${index} items, and ${least} were in the outbox`);
      }
    });
  }
}
