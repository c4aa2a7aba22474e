/**
 * Words for `status()` about a replica that takes long to start: the resources that it waits for, from the core's answer to `why`. Pure.
 *
 * The core names the actors that hold resources by their class, which is the same for all replicas; so those that are replicas are named beside it.
 */
import type { Why } from "../../../core/index.ts";

/** Describes why a replica waits. @param replicaOf the replica of an actor, or undefined @param group the bundles of its placement group, if it has one */
export function waitText(why: Why, replicaOf: (actorId: string) => string | undefined, group?: string): string {
  let cause = why;
  while (cause.causes[0] !== undefined) cause = cause.causes[0];
  // Nothing but the user's code holds a replica's process up.
  if (cause.state === "running" || cause.state === "waits for its turn") return "is in its constructor, reconfigure or checkHealth";
  if (cause.state === "waits for a placement group" && group !== undefined) return `${cause.state} of ${group}: ${cause.reason}`;
  const holders = (cause.details["holders"] ?? []) as readonly { readonly id: string }[];
  const replicas = holders.map(({ id }) => replicaOf(id)).filter((id) => id !== undefined);
  const named = replicas.length === 0 ? "" : `; among these: ${replicas.map((id) => `replica ${id}`).join(", ")}`;
  return `${cause.state}: ${cause.reason}${named}`;
}
