/**
 * The random program of one driver: submits, awaits, hands on and drops, as drawn from the seed.
 *
 * Every result is compared with the model, and every failure must be one that the faults of the run explain. A call with unlimited retries
 * that depends on nothing losable must succeed. At its end the program drops everything it has. Decides nothing about faults (`faults.ts`).
 */
import type { Random } from "../soak/random.ts";
import { get, kill, type ObjectRef, wait } from "../src/index.ts";
import {
  type AccountHandle,
  type Application,
  type ActorPlan,
  type Borrowed,
  isOutcome,
  mix,
  type Outcome,
  type TaskSpec,
} from "./application.ts";
import type { Driver } from "./node.ts";
import { PARTS } from "./parts/index.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf } from "./parts/part.ts";

interface Held {
  readonly ref: ObjectRef<Outcome>;
  readonly key: string;
  readonly n: number;
  /** Succeeds whatever processes die, as long as this driver lives and its inputs are sure, too. */
  readonly isSure: boolean;
  /** Throws by itself. */
  readonly fails: boolean;
  readonly inputs: readonly Held[];
  readonly actor: HeldActor | undefined;
  /** How often it is awaited now. */
  checks: number;
}

interface HeldActor {
  readonly plan: ActorPlan;
  readonly handle: AccountHandle;
  calls: number;
  readonly isSure: boolean;
  isKilled: boolean;
}

/** Failures that a run may show, besides those that a program asks for. */
interface Expectations {
  /** Processes or connections end by fault in this run. */
  readonly hasFaults: boolean;
  /** Values lie in the store of a node. */
  readonly hasLargeValues: boolean;
}

interface DriverProgramOptions {
  readonly random: Random;
  readonly expects: Expectations;
  /** Features in use besides tasks, actors and objects, and the random source of these parts. */
  readonly parts: readonly string[];
  readonly partRandom: Random;
}

export class DriverProgram {
  readonly #app: Application;
  readonly #driver: Driver;
  readonly #random: Random;
  readonly #expects: Expectations;
  readonly #held: Held[] = [];
  readonly #actors: HeldActor[] = [];
  readonly #checks = new Set<Promise<void>>();
  readonly #parts: readonly ProgramPart[];
  readonly #partRandom: Random;
  #next = 0;
  isOver = false;
  /** Open waits, for the report of a program that never ends. */
  readonly waiting = new Set<string>();

  constructor(app: Application, driver: Driver, options: DriverProgramOptions) {
    this.#app = app;
    this.#driver = driver;
    this.#random = options.random;
    this.#expects = options.expects;
    this.#partRandom = options.partRandom;
    const context: PartContext = {
      app,
      driver,
      random: options.partRandom,
      hasFaults: options.expects.hasFaults,
      newKey: (kind) => this.#newKey(kind),
      violate: (text) => this.#violate(text),
      track: (name, work) => this.#track(name, work),
    };
    this.#parts = options.parts.map((name) => new (PARTS[name] as (typeof PARTS)[string])(context));
  }

  get name(): string {
    return this.#driver.process.name;
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      this.#step();
      if (this.#parts.length > 0) this.#partRandom.pick(this.#parts).step();
      if (this.#random.next() < 0.6) await this.#sleep(this.#random.next() * 40);
    }
    for (const held of this.#held) this.#check(held);
    for (const part of this.#parts) part.end();
    while (this.#checks.size > 0) await Promise.all(this.#checks);
    for (const held of this.#held.splice(0)) held.ref[Symbol.dispose]();
    for (const actor of this.#actors.splice(0)) actor.handle[Symbol.dispose]();
    this.isOver = true;
    this.#driver.process.say("program over");
  }

  #track(name: string, work: () => Promise<void>): void {
    this.waiting.add(name);
    const tracked = work()
      .catch((error: unknown) => this.#violate(`${name} failed: ${String((error as Error).stack)}`))
      .finally(() => {
        this.#checks.delete(tracked);
        this.waiting.delete(name);
      });
    this.#checks.add(tracked);
  }

  #violate(text: string): void {
    if (!this.#driver.hasLostNode) this.#app.world.violate(text);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#driver.process.schedule(ms, resolve));
  }

  #step(): void {
    const draw = this.#random.next();
    if (draw < 0.4) this.#submit();
    else if (draw < 0.47) this.#put();
    else if (draw < 0.6) this.#checkSome();
    else if (draw < 0.68) this.#drop();
    else if (draw < 0.74) this.#createActor();
    else if (draw < 0.94) this.#callActor();
    else if (draw < 0.96) this.#killActor();
    else if (draw < 0.97) this.#dropActor();
    else this.#waitForSome();
  }

  #newKey(kind: string): string {
    this.#next += 1;
    return `${this.name}:${kind}${this.#next}`;
  }

  #task(key: string, depth: number): TaskSpec {
    const random = this.#random;
    const children =
      depth < 2 && random.next() < 0.3
        ? Array.from({ length: 1 + random.below(3) }, (_, index) => this.#task(`${key}.${index}`, depth + 1))
        : [];
    return {
      key,
      ms: random.next() < 0.5 ? random.next() * 2 : random.next() * 50,
      cpu: Math.min(random.pick([1, 1, 1, 1, 1, 2, 0.5, 0]), this.#app.total["CPU"] ?? 1),
      // A task that waits keeps every resource but its CPUs: a child that wants the only one would wait for ever, as in Ray.
      resources: depth === 0 && random.next() < 0.15 ? { slot: 1 } : {},
      maxRetries: random.pick([0, 1, 3, 3, -1, -1, -1]),
      children,
      after: random.pick(["get", "get", "get", "wait", "forget", "return"]),
      size: random.next() < 0.2 && this.#expects.hasLargeValues ? "large" : "small",
      fails: random.next() < 0.04,
      line: [this.name],
    };
  }

  #submit(): void {
    const random = this.#random;
    const spec = this.#task(this.#newKey("t"), 0);
    const inputs: Held[] = [];
    const given: (ObjectRef<Outcome> | Borrowed)[] = [];
    const numbers: number[] = [];
    for (let count = random.below(3); count > 0 && this.#held.length > 0; count -= 1) {
      const input = random.pick(this.#held);
      const isDirect = random.next() < 0.6;
      // A task that keeps the only slot while it waits must wait for nothing that needs the slot.
      const reads = isDirect || (random.next() < 0.7 && Object.keys(spec.resources).length === 0);
      given.push(isDirect ? input.ref : { ref: input.ref, reads });
      if (!reads) continue;
      inputs.push(input);
      numbers.push(input.n);
    }
    const isSure = spec.maxRetries === -1 && spec.children.length === 0;
    const facts = { isSure, fails: failsInside(spec), inputs, actor: undefined, checks: 0 };
    const ref = this.#app.submit(spec, given);
    this.#driver.process.say(
      `submits ${spec.key} with ${given.length} inputs, ${spec.children.length} children (${spec.after}), ${spec.size}, maxRetries ${spec.maxRetries}`,
    );
    this.#held.push({ ref, key: spec.key, n: this.#app.expected(spec, numbers), ...facts });
  }

  #put(): void {
    const key = this.#newKey("p");
    const size = this.#random.next() < 0.5 && this.#expects.hasLargeValues ? "large" : "small";
    this.#held.push({
      ref: this.#app.put(key, size),
      key,
      n: mix(key, []),
      isSure: true,
      fails: false,
      inputs: [],
      actor: undefined,
      checks: 0,
    });
  }

  #checkSome(): void {
    if (this.#held.length > 0) this.#check(this.#random.pick(this.#held));
  }

  #check(held: Held): void {
    const name = `${held.key}#${this.#next}`;
    this.#next += 1;
    this.waiting.add(name);
    held.checks += 1;
    const check = get(held.ref)
      .then(
        (value) => this.#compare(held, value),
        (error: unknown) => this.#explain(held, error),
      )
      .finally(() => {
        held.checks -= 1;
        this.#checks.delete(check);
        this.waiting.delete(name);
      });
    this.#checks.add(check);
  }

  #compare(held: Held, value: Outcome): void {
    if (!isOutcome(value, held.n)) this.#app.world.violate(`${held.key} gave ${value.n} and not ${held.n}`);
    for (const ref of value.refs) ref[Symbol.dispose]();
  }

  #explain(held: Held, error: unknown): void {
    const cause = rootOf(error);
    if (cause.name === "ChosenFailure" && reaches(held, (part) => part.fails)) return;
    if (cause.name === "ActorDiedError" && reaches(held, (part) => part.actor?.isKilled === true)) return;
    // Without its node a driver has nothing any more.
    if (this.#driver.hasLostNode && CAUSED_BY_FAULTS.has(cause.name)) return;
    if (this.#expects.hasFaults && CAUSED_BY_FAULTS.has(cause.name) && reaches(held, (part) => !part.isSure)) return;
    this.#app.world.say(this.name, String((error as Error).stack));
    this.#app.world.say(this.name, String(cause.stack));
    this.#app.world.violate(`${held.key} failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
  }

  #drop(): void {
    if (this.#held.length === 0) return;
    const index = this.#random.below(this.#held.length);
    const held = this.#held[index] as Held;
    // A ref that is still awaited has not been dropped.
    if (held.checks > 0) return;
    this.#held.splice(index, 1);
    this.#driver.process.say(`drops ${held.key}`);
    held.ref[Symbol.dispose]();
  }

  #createActor(): void {
    const random = this.#random;
    const plan = { key: this.#newKey("a"), maxRestarts: random.pick([0, 1, -1, -1]), maxTaskRetries: random.pick([0, 0, 2, -1, -1]) };
    const handle = this.#app.createActor(plan);
    this.#driver.process.say(`creates ${plan.key}: maxRestarts ${plan.maxRestarts}, maxTaskRetries ${plan.maxTaskRetries}`);
    this.#actors.push({ plan, handle, calls: 0, isSure: plan.maxRestarts === -1 && plan.maxTaskRetries === -1, isKilled: false });
  }

  #callActor(): void {
    if (this.#actors.length === 0) return;
    const random = this.#random;
    const actor = random.pick(this.#actors);
    const key = this.#newKey("c");
    const inputs = random.next() < 0.3 && this.#held.length > 0 ? [random.pick(this.#held)] : [];
    actor.calls += 1;
    const call = { key, sender: this.name, number: actor.calls, ms: random.next() < 0.5 ? 0 : random.next() * 20 };
    const ref = actor.handle.call.remote(call, ...inputs.map((input) => input.ref));
    const n = mix(
      key,
      inputs.map((input) => input.n),
    );
    this.#held.push({ ref, key: `${key} of ${actor.plan.key}`, n, isSure: actor.isSure, fails: false, inputs, actor, checks: 0 });
  }

  #killActor(): void {
    if (this.#actors.length === 0) return;
    const [actor] = this.#actors.splice(this.#random.below(this.#actors.length), 1) as [HeldActor];
    this.#driver.process.say(`kills ${actor.plan.key}`);
    actor.isKilled = true;
    void kill(actor.handle as never);
    actor.handle[Symbol.dispose]();
  }

  #dropActor(): void {
    if (this.#actors.length === 0) return;
    const [actor] = this.#actors.splice(this.#random.below(this.#actors.length), 1) as [HeldActor];
    this.#driver.process.say(`drops ${actor.plan.key}`);
    actor.handle[Symbol.dispose]();
  }

  #waitForSome(): void {
    const some = this.#held.slice(0, 5).map((held) => held.ref);
    if (some.length === 0) return;
    const waits = wait(some, { numReturns: 1, timeoutMs: 50 }).then(() => {
      this.#checks.delete(waits);
    });
    this.#checks.add(waits);
  }
}

function reaches(held: Held, test: (part: Held) => boolean): boolean {
  return test(held) || held.inputs.some((input) => reaches(input, test));
}

function failsInside(spec: TaskSpec): boolean {
  return spec.fails || (spec.after === "get" && spec.children.some(failsInside));
}
