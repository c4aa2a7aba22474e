/**
 * The actor at which the members of a collective group meet: it hands each member's contribution to the others.
 *
 * Owns the ranks and the running exchanges. An exchange ends when all parties have come, and each gets the parts addressed to it. The parts
 * are references to shared memory or small arrays; no arithmetic happens here. Every failure is reported to all. Parties that came with
 * different operations or arrays fail that exchange. A member that died, left or did not come in time ends the *generation*, the life of a
 * group from the moment all have joined. Members that join again begin the next one. Called by `group.ts` and `membership.ts` alone; its
 * calls overlap.
 */
import { actors, type ObjectRef } from "../../core/index.ts";
import { CollectiveError } from "./collective-error.ts";

/** A part from one member for another: a reference to a large array, or a small one itself. */
export type Part = { readonly ref: ObjectRef<unknown> } | { readonly inline: unknown } | undefined;

export interface Meeting {
  readonly generation: number;
  /** Names the exchange; all parties name it alike. */
  readonly key: string;
  readonly rank: number;
  /** Members that take part. */
  readonly parties: readonly number[];
  /** Names the operation and its arrays; must be the same for all. */
  readonly signature: string;
  readonly timeoutMs: number;
}

export interface Joining {
  /** The same for each life of an actor or task, another one after a restart. */
  readonly identity: string;
  readonly actorId: string | undefined;
  readonly pid: number;
  /** Undefined: from `declare`. */
  readonly rank: number | undefined;
  readonly worldSize: number | undefined;
  readonly timeoutMs: number;
}

export interface Seat {
  readonly generation: number;
  readonly rank: number;
  readonly worldSize: number;
}

interface Waiting<A> {
  resolve(answer: A): void;
  reject(error: Error): void;
}

interface Member extends Waiting<Seat> {
  readonly identity: string;
  readonly actorId: string | undefined;
  readonly pid: number;
}

interface Exchange {
  readonly signature: string;
  readonly parties: readonly number[];
  readonly brought: Map<number, readonly Part[]>;
  readonly waiting: Map<number, Waiting<Part[]>>;
  failure: CollectiveError | undefined;
}

/** Interval at which the lives of members are checked while others wait for them. */
const WATCH_EVERY_MS = 1000;

export class Rendezvous {
  #generation = 1;
  #worldSize: number | undefined;
  /** By rank. */
  readonly #members = new Map<number, Member>();
  readonly #exchanges = new Map<string, Exchange>();
  #declared: ReadonlyMap<string, number> | undefined;
  /** Reason for which the generation is over. */
  #end: CollectiveError | undefined;
  #watch: NodeJS.Timeout | undefined;

  /** Assigns ranks to actors. */
  declare(ranks: ReadonlyMap<string, number>): void {
    if (this.#declared !== undefined || this.#members.size > 0) {
      throw new CollectiveError("Cannot create a collective group: there is one of that name", {
        reason: "the name is taken",
        hint: "Give the group another groupName, or destroy the other one first.",
      });
    }
    this.#declared = ranks;
  }

  /** Resolves when all ranks have joined. */
  join(joining: Joining): Promise<Seat> {
    const { identity, actorId, pid, timeoutMs } = joining;
    const worldSize = joining.worldSize ?? this.#declared?.size;
    const rank = joining.rank ?? this.#declared?.get(actorId ?? "");
    if (worldSize === undefined) throw notCreated();
    if (rank === undefined) {
      throw new CollectiveError("Cannot join a collective group: this actor is not one of its members", {
        reason: "createCollectiveGroup was called without it",
        hint: "Name all members when the group is created.",
      });
    }
    this.#makeRoom(identity, rank);
    if (this.#worldSize !== undefined && this.#worldSize !== worldSize) {
      throw new CollectiveError(`Cannot join a collective group: its size is ${this.#worldSize}: received ${worldSize}`, {
        reason: "the members do not agree about the size of the group",
        hint: "Pass the same worldSize everywhere.",
      });
    }
    this.#worldSize = worldSize;
    const generation = this.#generation;
    const { promise, resolve, reject } = Promise.withResolvers<Seat>();
    this.#members.set(rank, { identity, actorId, pid, resolve, reject });
    this.#keepWatch();
    if (this.#members.size === worldSize) for (const [each, member] of this.#members) member.resolve({ generation, rank: each, worldSize });
    return within(promise, timeoutMs, () =>
      this.#endGeneration(generation, this.#absence("join a collective group", [...this.#members.keys()], timeoutMs)),
    );
  }

  /** Brings parts for the other members, one for each rank or one for all, and resolves with theirs, by rank. */
  exchange(meeting: Meeting, brought: readonly Part[]): Promise<Part[]> {
    const { generation, key, rank, parties, signature, timeoutMs } = meeting;
    this.#requireGeneration(generation);
    let exchange = this.#exchanges.get(key);
    if (exchange === undefined) {
      exchange = { signature, parties, brought: new Map(), waiting: new Map(), failure: undefined };
      this.#exchanges.set(key, exchange);
    }
    exchange.brought.set(rank, brought);
    if (exchange.signature !== signature) {
      exchange.failure ??= new CollectiveError(
        `Cannot do a collective operation: the members do not do the same: one does ${exchange.signature}, rank ${rank} does ${signature}`,
        { reason: "operations, kinds of arrays or lengths differ", hint: "All members must make the same calls in the same order." },
      );
    }
    const isComplete = exchange.brought.size === parties.length;
    if (isComplete) this.#exchanges.delete(key);
    if (exchange.failure !== undefined) {
      for (const waiting of exchange.waiting.values()) waiting.reject(exchange.failure);
      exchange.waiting.clear();
      if (isComplete) release(exchange);
      throw exchange.failure;
    }
    const current = exchange;
    const { promise, resolve, reject } = Promise.withResolvers<Part[]>();
    current.waiting.set(rank, { resolve, reject });
    if (isComplete) complete(current);
    else this.#keepWatch();
    return within(promise, timeoutMs, () =>
      this.#endGeneration(generation, this.#absence(`do ${signature}`, [...current.brought.keys()], timeoutMs)),
    );
  }

  /** Lets a member leave: exchanges that the others wait for fail. */
  leave(generation: number, rank: number): void {
    this.#endGeneration(
      generation,
      new CollectiveError(`Cannot go on with a collective group: rank ${rank} has left it`, {
        reason: "destroyCollectiveGroup was called in a member",
        hint: "Make the group anew.",
      }),
    );
  }

  /** Ends the generation where a join begins a new one, or refuses it. */
  #makeRoom(identity: string, rank: number): void {
    const before = this.#members.get(rank);
    const isForming = this.#end === undefined && this.#members.size < (this.#worldSize ?? Number.POSITIVE_INFINITY);
    if (this.#end === undefined && before !== undefined && before.identity.split("/")[0] !== identity.split("/")[0]) {
      throw new CollectiveError(`Cannot join a collective group: rank ${rank} is taken`, {
        reason: "another member has that rank",
        hint: "Give each member a rank of its own, or the group another groupName.",
      });
    }
    if (this.#end === undefined && before === undefined && !isForming) {
      throw new CollectiveError(`Cannot join a collective group: it is complete: received rank ${rank}`, {
        reason: "all ranks have joined",
        hint: "Give the group another groupName, or destroy the other one first.",
      });
    }
    if (before !== undefined && this.#end === undefined) {
      this.#endGeneration(
        this.#generation,
        new CollectiveError(`Cannot go on with a collective group: rank ${rank} has joined anew`, {
          reason: "the member was restarted, or called initCollectiveGroup again",
          hint: "All members must join again.",
        }),
      );
    }
    if (this.#end === undefined) return;
    this.#generation += 1;
    this.#members.clear();
    this.#worldSize = this.#declared?.size;
    this.#end = undefined;
  }

  #requireGeneration(generation: number): void {
    if (this.#end !== undefined) throw this.#end;
    if (generation !== this.#generation) {
      throw new CollectiveError("Cannot do a collective operation: the group has begun anew without this member", {
        reason: "others have joined again after a failure",
        hint: "Call initCollectiveGroup again.",
      });
    }
  }

  #endGeneration(generation: number, reason: CollectiveError): void {
    if (generation !== this.#generation || this.#end !== undefined) return;
    this.#end = reason;
    clearInterval(this.#watch);
    this.#watch = undefined;
    // A member whose join was answered ignores this: its promise is settled.
    for (const member of this.#members.values()) member.reject(reason);
    for (const exchange of this.#exchanges.values()) {
      for (const waiting of exchange.waiting.values()) waiting.reject(reason);
      release(exchange);
    }
    this.#exchanges.clear();
  }

  #absence(what: string, present: readonly number[], timeoutMs: number): CollectiveError {
    const missing = Array.from({ length: this.#worldSize ?? 0 }, (_, rank) => rank).filter((rank) => !present.includes(rank));
    return new CollectiveError(`Cannot ${what}: after ${timeoutMs} ms ${ranksText(missing)} had not come`, {
      reason: "the time limit was reached",
      hint: "All members must make the same calls; raise timeoutMs where one may be late. Make the group anew.",
      details: { missing, timeoutMs },
    });
  }

  /** Runs while somebody waits: a member that died will never come. */
  #keepWatch(): void {
    this.#watch ??= setInterval(() => void this.#look(), WATCH_EVERY_MS).unref();
  }

  async #look(): Promise<void> {
    const isForming = this.#members.size < (this.#worldSize ?? 0);
    if (!isForming && this.#exchanges.size === 0) {
      clearInterval(this.#watch);
      this.#watch = undefined;
      return;
    }
    const generation = this.#generation;
    const dead = await deadAmong([...this.#members].map(([rank, { actorId, pid }]) => ({ rank, actorId, pid })));
    const [first] = dead;
    if (first === undefined) return;
    this.#endGeneration(
      generation,
      new CollectiveError(`Cannot go on with a collective group: ${ranksText(dead.map(({ rank }) => rank))} died: ${first.reason}`, {
        reason: "a member died",
        hint: "Make the group anew with the members that are left, or restart the member.",
        details: { dead: dead.map(({ rank }) => rank) },
      }),
    );
  }
}

/** Returns the answer. If it is late, `onLate` settles it. */
function within<A>(answer: Promise<A>, timeoutMs: number, onLate: () => void): Promise<A> {
  // In-process mode: an abandoned wait must not hold the program.
  const timer = setTimeout(onLate, timeoutMs).unref();
  return answer.finally(() => clearTimeout(timer));
}

function complete(exchange: Exchange): void {
  for (const [rank, waiting] of exchange.waiting) {
    const parts: Part[] = [];
    for (const [from, brought] of exchange.brought) if (from !== rank) parts[from] = brought.length === 1 ? brought[0] : brought[rank];
    waiting.resolve(parts);
  }
  // The answers are encoded when the promises' reactions have run; from then on the receivers hold the references.
  setTimeout(release, 0, exchange);
}

/** Gives up the references: the memory behind them can be written again as soon as the members are done with it. */
function release(exchange: Exchange): void {
  for (const parts of exchange.brought.values()) {
    for (const part of parts) if (part !== undefined && "ref" in part) part.ref[Symbol.dispose]();
  }
}

function notCreated(): CollectiveError {
  return new CollectiveError("Cannot join a collective group: it has not been created", {
    reason: "no group has that name",
    hint: "Call initCollectiveGroup in each member, or createCollectiveGroup in the program that has their handles.",
  });
}

function ranksText(ranks: readonly number[]): string {
  return `${ranks.length === 1 ? "rank" : "ranks"} ${ranks.join(", ")}`;
}

interface WatchedMember {
  readonly rank: number;
  /** Undefined for tasks and the driver, which nobody can look up. */
  readonly actorId: string | undefined;
  readonly pid: number;
}

/** Returns the members that will not come any more: their actor has died, or lives in a process other than the one that joined. */
async function deadAmong(members: readonly WatchedMember[]): Promise<{ rank: number; reason: string }[]> {
  const known = new Map((await actors({ includeDead: true })).map((info) => [info.actorId as string, info]));
  const dead: { rank: number; reason: string }[] = [];
  for (const { rank, actorId, pid } of members) {
    if (actorId === undefined) continue;
    const info = known.get(actorId);
    if (info !== undefined && info.phase !== "dead" && info.phase !== "restarting" && info.pid === pid) continue;
    dead.push({ rank, reason: info?.reason ?? (info === undefined ? "it is not known any more" : "its process was replaced") });
  }
  return dead;
}
