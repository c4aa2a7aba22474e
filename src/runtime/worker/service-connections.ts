/**
 * Connections to an actor that carry no calls: frames of a library, between two processes that have proved that they are of one session.
 *
 * Owns which services an actor offers. The worker's host hands over a connection whose hello names a service; the library's part in the actor
 * (`core/actors/actor-connections.ts`) takes it. A connection for a service that nobody offers is dropped.
 */
import type { ActorId } from "../base/ids.ts";
import type { Connection } from "../rpc/connection.ts";

type AcceptService = (connection: Connection) => void;

/** By actor, as workers inside one process share this module. */
const offered = new Map<ActorId, Map<string, AcceptService>>();

export function offerService(actor: ActorId, service: string, accept: AcceptService): void {
  const services = offered.get(actor) ?? new Map<string, AcceptService>();
  offered.set(actor, services);
  services.set(service, accept);
}

/** Withdraws the services of an actor that has ended. An actor with its own process has no need of that. */
export function withdrawServices(actor: ActorId): void {
  offered.delete(actor);
}

export function serveConnection(actor: ActorId | undefined, service: string | undefined, connection: Connection): void {
  const accept = actor === undefined || service === undefined ? undefined : offered.get(actor)?.get(service);
  if (accept === undefined) connection.drop(`nobody offers the service ${String(service)} here`);
  else accept(connection);
}
