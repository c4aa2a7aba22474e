/**
 * Actors with names, lifetimes and concurrency groups in simulated programs: several drivers create, find, call and end the same ones.
 *
 * Holds that a name leads to one living actor at a time, and that each group of calls keeps its limit. Calls of an actor that nobody ended
 * and no fault met succeed as long as the actor is held. Detached actors outlive their drivers until they are killed.
 */
import { type ActorOptions, get, getActor, kill, type ObjectRef, remote } from "../../src/index.ts";
import { currentProcess } from "../ambient.ts";
import type { Application } from "../application.ts";
import type { SimulatedProcess } from "../world.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf } from "./part.ts";

const NAMES = ["n0", "n1", "n2"] as const;
const IO_LIMIT = 2;

interface Call {
  readonly key: string;
  readonly ms: number;
}

interface MemberHandle extends Disposable {
  readonly plain: { remote(call: Call): ObjectRef<string> };
  readonly io: { remote(call: Call): ObjectRef<string> };
}

interface MemberFacts {
  readonly classOf: { options(options: ActorOptions): { remote(key: string): MemberHandle } };
  /** Names that somebody has killed, or whose creation is expected to fail: calls of them may fail. */
  readonly endedNames: Set<string>;
  readonly detachedNames: Set<string>;
}

const facts = new WeakMap<Application, MemberFacts>();

function factsOf(app: Application): MemberFacts {
  let found = facts.get(app);
  if (found === undefined) {
    const Member = class Member {
      readonly #key: string;
      #plain = 0;
      #io = 0;

      constructor(key: string) {
        this.#key = key;
        (currentProcess() as SimulatedProcess).say(`is member ${key}`);
        app.memberBorn(key);
      }

      async plain(call: Call): Promise<string> {
        this.#plain += 1;
        if (this.#plain > 1) app.world.violate(`call ${call.key} of serial group of ${this.#key} overlaps another`);
        await this.#spend(call);
        this.#plain -= 1;
        return this.#key;
      }

      async io(call: Call): Promise<string> {
        this.#io += 1;
        if (this.#io > IO_LIMIT) app.world.violate(`${this.#io} calls of group io of ${this.#key} at once`);
        await this.#spend(call);
        this.#io -= 1;
        return this.#key;
      }

      async #spend(call: Call): Promise<void> {
        const process = currentProcess() as SimulatedProcess;
        process.say(`runs call ${call.key} of ${this.#key}`);
        await new Promise<void>((resolve) => process.schedule(call.ms, resolve));
      }
    };
    found = { classOf: remote(Member) as never, endedNames: new Set(), detachedNames: new Set() };
    facts.set(app, found);
  }
  return found;
}

/** Ends what outlives every program; by a driver that is left. */
export async function endDetachedActors(app: Application): Promise<void> {
  for (const name of factsOf(app).detachedNames) {
    try {
      const handle = (await getActor(name)) as unknown as MemberHandle;
      await kill(handle as never);
      handle[Symbol.dispose]();
    } catch (error) {
      if (rootOf(error).name !== "ActorDiedError") throw error;
    }
  }
}

interface HeldMember {
  readonly name: string | undefined;
  readonly handle: MemberHandle;
  /** By this driver. */
  isKilled: boolean;
}

export class NamedActorPart implements ProgramPart {
  readonly #context: PartContext;
  readonly #held: HeldMember[] = [];
  #isOver = false;

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    const draw = this.#context.random.next();
    if (draw < 0.25 || this.#held.length === 0) this.#create();
    else if (draw < 0.35) this.#find();
    else if (draw < 0.85) this.#call();
    else if (draw < 0.95) this.#drop();
    else this.#kill();
  }

  end(): void {
    this.#isOver = true;
    for (const { handle } of this.#held.splice(0)) handle[Symbol.dispose]();
  }

  #create(): void {
    const { app, random, newKey, driver } = this.#context;
    const name = random.next() < 0.8 ? random.pick(NAMES) : undefined;
    const getIfExists = name !== undefined && random.next() < 0.7;
    const isDetached = name !== undefined && random.next() < 0.3;
    const key = newKey("m");
    const known = factsOf(app);
    if (isDetached) known.detachedNames.add(name);
    // The second of a name fails, and a dropped one ends while others may still find it.
    if (name !== undefined && !getIfExists) known.endedNames.add(name);
    driver.process.say(
      `creates member ${key}, name ${name ?? "none"}${getIfExists ? " if there is none" : ""}${isDetached ? ", detached" : ""}`,
    );
    const handle = known.classOf
      .options({
        ...(name === undefined ? {} : { name, getIfExists }),
        ...(isDetached ? { lifetime: "detached" as const } : {}),
        maxRestarts: random.pick([0, -1]),
        maxTaskRetries: random.pick([0, -1]),
        concurrencyGroups: { io: IO_LIMIT },
        methods: { io: { concurrencyGroup: "io" } },
      } as ActorOptions)
      .remote(key);
    this.#held.push({ name, handle, isKilled: false });
  }

  #find(): void {
    const { random, newKey, track } = this.#context;
    const name = random.pick(NAMES);
    track(newKey(`find ${name} `), async () => {
      try {
        const handle = (await getActor(name)) as unknown as MemberHandle;
        if (this.#isOver) handle[Symbol.dispose]();
        else this.#held.push({ name, handle, isKilled: false });
      } catch (error) {
        const cause = rootOf(error);
        if (cause.name !== "ActorDiedError") this.#context.violate(`looking up ${name} failed with ${cause.name}: ${cause.message}`);
      }
    });
  }

  #call(): void {
    const { app, random, newKey, track, hasFaults } = this.#context;
    const member = random.pick(this.#held);
    const { name, handle } = member;
    const call = { key: newKey("c"), ms: random.pick([0, 0, 20]) * random.next() };
    const ref = random.next() < 0.5 ? handle.plain.remote(call) : handle.io.remote(call);
    track(call.key, async () => {
      try {
        await get(ref);
      } catch (error) {
        const cause = rootOf(error);
        const isEnded = member.isKilled || (name !== undefined && factsOf(app).endedNames.has(name));
        const isExplained =
          (isEnded && ["ActorDiedError", "ActorNameTakenError"].includes(cause.name)) || (hasFaults && CAUSED_BY_FAULTS.has(cause.name));
        if (!isExplained)
          this.#context.violate(`call ${call.key} of ${name ?? "an actor"} failed with ${cause.name}: ${cause.message.split("\n")[0]}`);
      } finally {
        ref[Symbol.dispose]();
      }
    });
  }

  #drop(): void {
    const [member] = this.#held.splice(this.#context.random.below(this.#held.length), 1) as [HeldMember];
    member.handle[Symbol.dispose]();
  }

  #kill(): void {
    const { app, random, driver } = this.#context;
    const [member] = this.#held.splice(random.below(this.#held.length), 1) as [HeldMember];
    driver.process.say(`kills member ${member.name ?? "without name"}`);
    member.isKilled = true;
    if (member.name !== undefined) factsOf(app).endedNames.add(member.name);
    void kill(member.handle as never);
    member.handle[Symbol.dispose]();
  }
}
