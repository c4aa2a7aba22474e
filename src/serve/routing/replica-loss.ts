/**
 * Whether a failure of a call means that the called replica is gone.
 *
 * A call also fails with the end of another actor: one that the replica's code called, or the one that was to compute an argument. Such a failure says nothing of
 * the replica, so it is told by the actor that it names. Called by handles, which make calls of lost replicas elsewhere.
 */
import { ActorDiedError, ActorUnavailableError } from "../../core/index.ts";

/** @param replica its actor; `actorId` is undefined where the actor was not found */
export function isLossOf(error: unknown, replica: { readonly actorName: string; readonly actorId: string | undefined }): boolean {
  if (!(error instanceof ActorDiedError || error instanceof ActorUnavailableError)) return false;
  // The failed lookup of an actor knows its name alone.
  const { actorId, name } = error.details ?? {};
  return actorId === undefined ? name === replica.actorName : actorId === replica.actorId;
}
