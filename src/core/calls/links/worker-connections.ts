/**
 * Connections of this process to the workers that its calls go to.
 *
 * Owned by the runtime; tasks and actors are each given `connect`, and `links` knows all that are open.
 */
import type { ProcessId } from "../../../runtime/base/ids.ts";
import { connectionOver, RelayTransport } from "../../../runtime/rpc/relay-transport.ts";
import type { ProcessObjects } from "../../objects/values/process-objects.ts";
import { connectPeer } from "../../../runtime/rpc/handshake.ts";
import { helloOf, type RuntimeOptions } from "../../runtime-options.ts";
import type { FirstCallOptions } from "../submission/first-calls.ts";
import type { OpenLinks } from "./open-links.ts";
import { WorkerLink, type WorkerLinkEvents, type WorkerTarget } from "./worker-link.ts";

export type ConnectWorker = (target: WorkerTarget, events: WorkerLinkEvents) => Promise<WorkerLink>;

/** Makes the links of calls that travel ahead of a connection; undefined inside one process, where nothing begins while it computes. */
export function firstCallOptions(
  options: RuntimeOptions,
  { table, store, channel }: ProcessObjects,
  links: OpenLinks,
): FirstCallOptions | undefined {
  if (options.mode === "inProcess") return undefined;
  const unknown = "" as ProcessId;
  return {
    taskIdPrefix: options.ids.prefix,
    newLink: (events) => {
      const number = links.newNumber();
      const transport = new RelayTransport();
      const link = new WorkerLink({
        processId: unknown,
        holderId: unknown,
        incarnation: 0,
        connection: connectionOver(transport),
        table,
        events,
        onStored: (location) => store.claim(location),
        number,
        onHeldRead: (answer) => channel.heldRead({ sender: link.processId, link: number, number: answer }),
      });
      const opened = (worker: ProcessId): void => {
        link.processId = worker;
        links.opened(link);
      };
      return { link: Object.assign(link, { number }), transport, opened };
    },
  };
}

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
      // Workers inside this process share its table, which holds the values that are sent to them.
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
