/**
 * What a replica that takes long to start waits for, in words for `status()`: made of what the core answers to `why`. Pure.
 *
 * The core names the actors that hold resources by their class, which is the same for all replicas; so those that are replicas are named beside it.
 */
import type { Why } from "../../core/index.ts";

/** @param replicaOf the replica of an actor; undefined where the actor is none */
export function waitText(why: Why, replicaOf: (actorId: string) => string | undefined): string {
  let cause = why;
  while (cause.causes[0] !== undefined) cause = cause.causes[0];
  if (cause.state === "running") return "is in its constructor, reconfigure or checkHealth";
  const holders = (cause.details["holders"] ?? []) as readonly { readonly id: string }[];
  const replicas = holders.map(({ id }) => replicaOf(id)).filter((id) => id !== undefined);
  const named = replicas.length === 0 ? "" : `; among these: ${replicas.map((id) => `replica ${id}`).join(", ")}`;
  return `${cause.state}: ${cause.reason}${named}`;
}
