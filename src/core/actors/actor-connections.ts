/**
 * Connections of libraries to actors: frames in both directions beside the actor's calls.
 *
 * Such connections serve where calls cannot: streams in both directions with credit, and many small messages without an order among calls.
 * An actor offers a service by name, and any process with its handle connects. Both ends have proved that they belong to the session, and
 * connections between nodes are encrypted, like calls. The library defines the frames: it uses types from 200 on, and the core uses those
 * below. No call travels over such a connection.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import type { ActorId } from "../../runtime/base/ids.ts";
import { ActorDiedError, ActorUnavailableError } from "../../runtime/base/errors.ts";
import type { Connection } from "../../runtime/rpc/connection.ts";
import { connectPeer } from "../../runtime/rpc/handshake.ts";
import { offerService } from "../../runtime/worker/service-connections.ts";
import { taskContext } from "../../runtime/worker/tasks/task-context.ts";
import { helloOf } from "../runtime-options.ts";
import { requireHandle } from "./actor-handle.ts";

/** A connection to or of an actor, for one service: `sendNumbered` and `send` put frames out, `onFrame` gets those of the other end, `onClose` its end. */
export type ServiceConnection = Connection;

/**
 * Accepts connections of other processes to this actor for a service. Call it in the actor's constructor or in one of its methods.
 *
 * @param accept sets `onFrame` and `onClose` before it returns
 * @throws TypeError outside of an actor
 */
export function offerConnections(service: string, accept: (connection: Connection) => void): void {
  const actor: ActorId | undefined = taskContext.current?.place.actor;
  if (actor === undefined) throw new TypeError(`Cannot offer the service ${service}: only actors do, and no actor runs here`);
  offerService(actor, service, accept);
}

/**
 * Opens a connection to an actor that offers the service. It waits until the actor has been made.
 *
 * @throws ActorDiedError where the actor is dead, ActorUnavailableError where its process does not answer
 */
export async function connectToActor(handle: object, service: string): Promise<Connection> {
  const { client, runtime } = requireHandle(handle, `connect to the service ${service}`);
  const actor = client.resolved;
  const isDead = (): ActorDiedError => {
    const reason = actor.state?.reason ?? "it is dead";
    return new ActorDiedError(`Cannot connect to actor ${actor.className}: ${reason}`, { reason, details: { actorId: actor.id } });
  };
  await actor.ready().catch(() => {
    throw isDead();
  });
  const { address, processId } = actor.state ?? {};
  if (address === undefined || processId === undefined) throw isDead();
  const hello = { ...helloOf(runtime.options), kind: "service" as const, service };
  try {
    const { connection } = await connectPeer(address, hello, { token: runtime.options.token, processId });
    connection.setKeepsProcessAlive(runtime.options.role === "worker");
    return connection;
  } catch (cause) {
    if (actor.state?.phase === "dead") throw isDead();
    const reason = messageOf(cause);
    throw new ActorUnavailableError(`Cannot connect to actor ${actor.className}: ${reason}`, {
      reason,
      hint: "Its process may just have ended; try again.",
      details: { actorId: actor.id },
      cause,
    });
  }
}
