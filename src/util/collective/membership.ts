/**
 * Creates groups: each member names its rank (`initCollectiveGroup`), or one program names all of them (`createCollectiveGroup`).
 *
 * Owns the memberships of this process, by actor and group. A group is a named actor, its rendezvous, which lives as long as a member or
 * the program that created it holds it; the first arrival creates it.
 */
import { ActorDiedError, type ActorHandle, type AnyActorHandle, getActor, getRuntimeContext, kill, remote } from "../../core/index.ts";
import { actorIdOf, count, custom, describeValue, readOptions, text, timeLimit, TIMER_MS_MAX, WAITERS_MAX } from "../../core/internal.ts";
import { CollectiveError } from "./collective-error.ts";
import { CollectiveGroup } from "./group.ts";
import { type Joining, Rendezvous, type Seat } from "./rendezvous.ts";

/** As long as PyTorch gives NCCL: a step of a training may take minutes, and a death is noticed in a second. */
const TIMEOUT_MS = 600_000;
/** A rendezvous that ends just now has its name for a moment longer. */
const ATTEMPTS = 20;
const RETRY_AFTER_MS = 50;

/** The options of `initCollectiveGroup`. */
export interface InitGroupOptions {
  /** How many members the group has. */
  worldSize: number;
  /** Rank of this member: 0 to `worldSize - 1`. */
  rank: number;
  /** The group's name, unique in the namespace. Default: `"default"`. */
  groupName?: string | undefined;
  /** How long members wait for one another, here and in operations, in milliseconds. Default: 600,000. */
  timeoutMs?: number | undefined;
}

/** The options of `createCollectiveGroup`. */
export interface CreateGroupOptions {
  /** The rank of each actor. Default: their order. */
  ranks?: readonly number[] | undefined;
  /** Checked against the number of actors. Default: their number. */
  worldSize?: number | undefined;
  /** The group's name, unique in the namespace. Default: `"default"`. */
  groupName?: string | undefined;
}

const GROUP_NAME = text("default");
const REQUIRED = { ...count({ min: 0 }, undefined), allowed: "a whole number is needed" };
const RANKS = custom<readonly number[] | undefined>("an array of ranks is needed", undefined, (value) =>
  Array.isArray(value) ? "ok" : "wrong type",
);
const GET = { of: "a collective group", otherNames: { backend: "there is one only" }, options: { timeoutMs: timeLimit() } };
const INIT = { ...GET, options: { worldSize: REQUIRED, rank: REQUIRED, groupName: GROUP_NAME, ...GET.options } };
const CREATE = { ...GET, options: { ranks: RANKS, worldSize: REQUIRED, groupName: GROUP_NAME } };

const memberships = new Map<string, { group: CollectiveGroup; rendezvous: ActorHandle<Rendezvous>; seat: Seat }>();
/** Groups that this process created for others: their rendezvous lives as long as the handle. */
const created = new Map<string, ActorHandle<Rendezvous>>();

/**
 * Makes the caller, most often an actor, a member of a group; resolves when all members have called it. A member that calls it again, as after a failure, begins
 * the group anew, with all others.
 *
 * @throws CollectiveError when the rank is taken, sizes differ, or the others do not arrive within `timeoutMs`.
 * @example
 * const group = await initCollectiveGroup({ worldSize: 4, rank });
 * await group.allreduce(gradients);
 */
export async function initCollectiveGroup(options: InitGroupOptions): Promise<CollectiveGroup> {
  const values = readOptions(options, INIT);
  const { worldSize, rank, groupName } = values;
  if (worldSize === undefined || worldSize < 1)
    throw new RangeError(`Cannot make a collective group: worldSize must be at least 1: received ${describeValue(worldSize)}`);
  if (rank === undefined || rank >= worldSize)
    throw new RangeError(`Cannot make a collective group: rank must be from 0 to ${worldSize - 1}: received ${describeValue(rank)}`);
  return join({ groupName, worldSize, rank, timeoutMs: values.timeoutMs, find: async () => rendezvousOf(groupName) });
}

/**
 * Makes actors the members of a group, without their doing: `getCollectiveGroup` in their methods joins it. The group lives as long as this program, task or
 * actor, or until `destroyCollectiveGroup`.
 *
 * @throws CollectiveError when the name is taken. RangeError when the ranks do not match the actors.
 * @example
 * await createCollectiveGroup([trainerA, trainerB], { groupName: "training" });
 */
export async function createCollectiveGroup(actors: readonly AnyActorHandle[], options?: CreateGroupOptions): Promise<void> {
  const { ranks, worldSize, groupName } = readOptions(options, CREATE);
  if (!Array.isArray(actors) || actors.length === 0)
    throw new TypeError(`Cannot create a collective group: an array of actors is needed: received ${describeValue(actors)}`);
  if (worldSize !== undefined && worldSize !== actors.length)
    throw new RangeError(
      `Cannot create a collective group: worldSize must be the number of actors, ${actors.length}: received ${worldSize}`,
    );
  const all = ranks ?? actors.map((_, index) => index);
  if (all.length !== actors.length || !actors.every((_, rank) => all.includes(rank)))
    throw new RangeError(
      `Cannot create a collective group: each rank from 0 to ${actors.length - 1} is needed once: received ${describeValue(all)}`,
    );
  const byActor = new Map<string, number>();
  for (const [index, actor] of actors.entries()) {
    byActor.set(actorIdOf(actor, "create a collective group"), all[index] as number);
  }
  const rendezvous = rendezvousOf(groupName);
  try {
    await rendezvous.declare.remote(byActor);
  } catch (error) {
    rendezvous[Symbol.dispose]();
    throw error;
  }
  created.set(groupName, rendezvous);
}

/**
 * The caller's place in a group: joined already, or now, when `createCollectiveGroup` named this actor. The first call resolves when all members have made it.
 *
 * @throws CollectiveError when the caller is not a member.
 */
export async function getCollectiveGroup(groupName = "default", options?: { timeoutMs?: number | undefined }): Promise<CollectiveGroup> {
  const known = memberships.get(keyOf(groupName));
  if (known !== undefined) return known.group;
  const { timeoutMs } = readOptions(options, GET);
  const find = async (): Promise<ActorHandle<Rendezvous>> => {
    try {
      return await getActor<Rendezvous>(nameOf(groupName));
    } catch (error) {
      throw new CollectiveError(`Cannot get collective group ${JSON.stringify(groupName)}: there is none of that name`, {
        reason: "no group has that name",
        hint: "Call initCollectiveGroup in each member, or createCollectiveGroup in the program that has their handles.",
        cause: error,
      });
    }
  };
  return join({ groupName, worldSize: undefined, rank: undefined, timeoutMs, find });
}

/** Whether the caller is a member of the group. */
export function isGroupInitialized(groupName = "default"): boolean {
  return memberships.has(keyOf(groupName));
}

/** Gives up the caller's membership: operations that other members wait for fail. A group that was created for others ends. */
export async function destroyCollectiveGroup(groupName = "default"): Promise<void> {
  const key = keyOf(groupName);
  const membership = memberships.get(key);
  memberships.delete(key);
  if (membership !== undefined) {
    const { rendezvous, seat } = membership;
    await Promise.allSettled([rendezvous.leave.remote(seat.generation, seat.rank)]);
    rendezvous[Symbol.dispose]();
  }
  const own = created.get(groupName);
  created.delete(groupName);
  if (own !== undefined) await kill(own);
}

interface JoinOptions {
  readonly groupName: string;
  readonly worldSize: number | undefined;
  readonly rank: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly find: () => Promise<ActorHandle<Rendezvous>>;
}

async function join({ groupName, worldSize, rank, timeoutMs, find }: JoinOptions): Promise<CollectiveGroup> {
  const limitMs = Math.min(timeoutMs ?? TIMEOUT_MS, TIMER_MS_MAX);
  const { actorId, taskId, workerId } = getRuntimeContext();
  const identity = `${actorId ?? taskId ?? workerId}/${workerId}`;
  const joining: Joining = { identity, actorId, pid: process.pid, rank, worldSize, timeoutMs: limitMs };
  const { rendezvous, seat } = await seatAt(find, joining);
  const group = new CollectiveGroup({ groupName, seat, rendezvous, timeoutMs: limitMs });
  memberships.get(keyOf(groupName))?.rendezvous[Symbol.dispose]();
  memberships.set(keyOf(groupName), { group, rendezvous, seat });
  return group;
}

async function seatAt(find: JoinOptions["find"], joining: Joining): Promise<{ rendezvous: ActorHandle<Rendezvous>; seat: Seat }> {
  for (let attempt = 1; ; attempt += 1) {
    const rendezvous = await find();
    try {
      return { rendezvous, seat: await rendezvous.join.remote(joining) };
    } catch (error) {
      rendezvous[Symbol.dispose]();
      if (!(error instanceof ActorDiedError) || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS));
    }
  }
}

function rendezvousOf(groupName: string): ActorHandle<Rendezvous> {
  return remote(Rendezvous, { name: nameOf(groupName), getIfExists: true, numCpus: 0, maxConcurrency: WAITERS_MAX }).remote();
}

function nameOf(groupName: string): string {
  return `collective group ${groupName}`;
}

/** In-process mode has all members in one process, so a membership belongs to an actor. */
function keyOf(groupName: string): string {
  const { actorId } = getRuntimeContext();
  return `${actorId ?? "no actor"} ${groupName}`;
}
