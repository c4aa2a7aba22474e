/**
 * Decides how a head that takes over reconciles the stored tables with the processes that really run on the nodes.
 *
 * Pure. The tables hold committed events, but an event's effects may have happened, not happened, or half happened. So each node that
 * registers reports its processes, and the difference is resolved: unknown processes are ended, missing ones have exited, and messages that
 * may not have been sent are sent again. A worker that the tables do not have was never told to start, as that waits for the commit. So an
 * actor can be placed again at once, and of two workers the one that reports second ends. Invariant: every step may be done twice.
 */
import { type ActorId, type NodeId, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { DigestActorHeader, NodeDigestHeader, WorkerFactsHeader } from "../../wire/cluster/cluster-messages.ts";
import type { AcceleratorIds, GroupCreateHeader } from "../../wire/messages.ts";
import { type ActorRecord, type ActorTable, newActor } from "../actors/actor-table.ts";
import type { GroupRecord } from "../placement/placement-group-table.ts";

export type NodeDigest = Omit<NodeDigestHeader, "heads">;
export type DigestActor = DigestActorHeader;

export type RecoveryStep =
  /** A worker that the tables do not have: nothing has started in it, as that waits for the commit. */
  | { kind: "placed"; actor: ActorId; worker: WorkerFactsHeader; accelerators: AcceleratorIds | undefined }
  /** The actor exists there, and placement has to know that. */
  | { kind: "adopt"; actor: ActorRecord; nodeId: NodeId }
  /** The worker may not have been told to start. */
  | { kind: "startAgain"; actor: ActorRecord; worker: WorkerFactsHeader; accelerators: AcceleratorIds | undefined }
  /** The worker may not have been told to end. */
  | { kind: "endAgain"; worker: ProcessId; reason: string }
  | { kind: "workerExited"; worker: WorkerFactsHeader; reason: string }
  | { kind: "endWorker"; worker: ProcessId; actor: ActorId; reason: string }
  | { kind: "processGone"; process: ProcessId }
  | { kind: "place"; actor: ActorRecord }
  /** No table had kept the group; its bundles are where the nodes say. */
  | { kind: "group"; group: GroupRecord; notWithinMs: number };

interface Known {
  readonly actors: ActorTable;
  /** Processes that own something beside actors, such as placement groups. */
  readonly owners: Iterable<ProcessId>;
}

/**
 * For restored tables: places actors without a worker. If one has a worker nevertheless, on a node that has not registered yet, the first
 * report wins.
 */
export function unplaced(actors: ActorTable): RecoveryStep[] {
  const isUnplaced = ({ phase, worker }: ActorRecord): boolean => phase !== "dead" && worker === undefined;
  return Array.from(actors.all())
    .filter(isUnplaced)
    .map((actor) => ({ kind: "place", actor }));
}

/** For each node that registers with a head that has not met it in its present life. */
export function reconcile({ nodeId, processes, actors }: NodeDigest, known: Known): RecoveryStep[] {
  const tag = nodeTagOf(nodeId);
  const there = new Set(actors.map(({ worker }) => worker.id));
  const steps = actors.flatMap((digest) => actorThere(digest, { nodeId, actors: known.actors }));
  for (const worker of known.actors.workersOf(tag)) {
    if (!there.has(worker.id)) steps.push({ kind: "workerExited", worker, reason: "it ended while the cluster had no head" });
  }
  const alive = new Set(processes);
  const owners = new Set(known.actors.creatorsOf(tag));
  for (const owner of known.owners) if (nodeTagOf(owner) === tag) owners.add(owner);
  for (const process of owners) if (!alive.has(process)) steps.push({ kind: "processGone", process });
  return steps;
}

function actorThere(
  { actorId, worker, accelerators }: DigestActor,
  { nodeId, actors }: { nodeId: NodeId; actors: ActorTable },
): RecoveryStep[] {
  const actor = actors.get(actorId);
  const end = (reason: string): RecoveryStep[] => [{ kind: "endWorker", worker: worker.id, actor: actorId, reason }];
  if (actor === undefined) return end("the head does not know its actor");
  if (actor.phase === "dead") return end(actor.reason ?? "its actor is dead");
  if (actor.worker === undefined) {
    return [
      { kind: "adopt", actor, nodeId },
      { kind: "placed", actor: actorId, worker, accelerators },
    ];
  }
  if (actor.worker.id !== worker.id) return end("another process has taken its actor's place");
  const steps: RecoveryStep[] = [{ kind: "adopt", actor, nodeId }];
  if (actor.phase !== "alive") steps.push({ kind: "startAgain", actor, worker, accelerators });
  if (actor.isEnding) steps.push({ kind: "endAgain", worker: worker.id, reason: actor.reason ?? "it was to end" });
  return steps;
}

/**
 * Returns the actors that nodes report when the tables are lost. They live on under their names, but the specs to restart them are gone. If
 * two claim to be the same actor, the later incarnation wins.
 */
export function actorsOfDigests(digests: readonly NodeDigest[]): ActorRecord[] {
  const found = new Map<ActorId, ActorRecord>();
  for (const { actorId, worker, facts } of digests.flatMap(({ actors }) => actors)) {
    if (facts === undefined || facts.incarnation <= (found.get(actorId)?.incarnation ?? -1)) continue;
    const { options, creator, incarnation } = facts;
    found.set(actorId, newActor({ id: actorId, options, creator, spec: undefined, phase: "alive", incarnation, worker }));
  }
  return Array.from(found.values());
}

/** The groups with bundles on a node when the tables are lost, except those whose owner is known to have ended. */
export function groupsOfDigest({ groups = [], bundles }: NodeDigest, hasEnded: (owner: ProcessId | ActorId) => boolean): GroupRecord[] {
  const there = new Set(bundles.filter(([, , attempt]) => attempt === 0).map(([group]) => group));
  const isWanted = ({ id, owner }: GroupCreateHeader): boolean => there.has(id) && (owner === undefined || !hasEnded(owner));
  return groups
    .filter(isWanted)
    .map(({ owner, ...header }) => ({ header: { ...header, state: "rescheduling", nodeIds: [] }, owner, reason: undefined }));
}
