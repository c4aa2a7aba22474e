/**
 * Connections of this process to the workers that its calls go to.
 *
 * Owned by the runtime; tasks and actors are each given `connect`, and `links` knows all that are open.
 */
import type { ProcessObjects } from "../objects/process-objects.ts";
import { connectPeer } from "../../runtime/rpc/handshake.ts";
import { helloOf, type RuntimeOptions } from "../runtime-options.ts";
import type { OpenLinks } from "./open-links.ts";
import { WorkerLink, type WorkerLinkEvents, type WorkerTarget } from "./worker-link.ts";

export type ConnectWorker = (target: WorkerTarget, events: WorkerLinkEvents) => Promise<WorkerLink>;

export function workerConnector(options: RuntimeOptions, { table, store, channel }: ProcessObjects, links: OpenLinks): ConnectWorker {
  const { mode, token, role, processId: own } = options;
  const isInProcess = mode === "inProcess";
  return async ({ address, processId, incarnation, leaseId }, events) => {
    // Inside one process nobody dies under an answer.
    const number = isInProcess ? undefined : links.newNumber();
    const { connection } = await connectPeer(address, { ...helloOf(options), leaseId, link: number }, { token, processId });
    connection.setKeepsProcessAlive(role === "worker");
    connection.busyPoll = options.busyPoll;
    const link = new WorkerLink({
      processId,
      // Workers inside this process share its table: what is sent to them is held by itself.
      holderId: isInProcess ? own : processId,
      incarnation,
      connection,
      table,
      events,
      onStored: (location) => store.claim(location),
      number,
      onHeldRead: (answer) => channel.heldRead({ sender: processId, link: number ?? 0, number: answer }),
    });
    links.opened(link);
    return link;
  };
}
