/**
 * The head as a daemon of a cluster sees it: the same two interfaces as on one machine, over the link to the head's process.
 *
 * What processes ask of the head is passed on with the name of who asks, and the head answers them by name. What the node has to tell goes as HEAD_EVENT, what
 * the head wants done comes as NODE_COMMAND; both carry the name of a method of `rpc/head-service.ts` and its arguments. The little that the node must know of
 * actors at once is remembered from the commands.
 */
import { type ActorId, type NodeId, nodeTagOf, type ProcessId } from "../base/ids.ts";
import type { HeadPeer, HeadService, NodeServices } from "../rpc/head-service.ts";
import type { Message, PeerConnection } from "../rpc/peer-connection.ts";
import type { HeadEventHeader, LeaseAskHeader, NodeCommandHeader, RoutedHeader, WorkerFactsHeader } from "../wire/cluster-messages.ts";
import { type AcceleratorIds, type ActorRefusal, MESSAGE, type WorkerExitedHeader } from "../wire/messages.ts";

export class RemoteHead implements HeadService {
  readonly #link: PeerConnection;
  readonly #node: NodeServices;
  readonly #actors = new Map<ActorId, { shape: string; className: string }>();

  constructor(link: PeerConnection, node: NodeServices) {
    this.#link = link;
    this.#node = node;
  }

  receive(peer: HeadPeer, { type, callId, flags, body }: Message, header: unknown): void {
    // Processes of other nodes ask by their own daemons; the head would not believe this one.
    if (nodeTagOf(peer.id) !== nodeTagOf(this.#node.nodeId)) return;
    const routed: RoutedHeader = [peer.id, "", type, callId, flags, header];
    this.#link.send(MESSAGE.ROUTED, routed, { parts: [body] });
  }

  placed(actor: ActorId, worker: WorkerFactsHeader, accelerators: AcceleratorIds | undefined): void {
    this.#tell("placed", actor, worker, accelerators);
  }

  refused(actor: ActorId, refusal: ActorRefusal): void {
    this.#tell("refused", actor, refusal);
  }

  groupReserved(group: string, nodeId: NodeId): void {
    this.#tell("groupReserved", group, nodeId);
  }

  groupPrepared(group: string, prepared: { attempt: number; isHeld: boolean; nodeId: NodeId }): void {
    this.#tell("groupPrepared", group, prepared);
  }

  actorFull(actor: ActorId, nodeId: NodeId): void {
    this.#tell("actorFull", actor, nodeId);
  }

  leasesWanted(nodeId: NodeId, ask: LeaseAskHeader): void {
    this.#tell("leasesWanted", nodeId, ask);
  }

  workerExited(worker: ProcessId, exit: WorkerExitedHeader, options: { intended: boolean }): void {
    this.#tell("workerExited", worker, exit, options);
  }

  workerLeaves(worker: ProcessId, reason: string | undefined): void {
    this.#tell("workerLeaves", worker, reason);
  }

  processGone(process: ProcessId): void {
    this.#tell("processGone", process);
  }

  unheld(actor: ActorId): void {
    this.#tell("unheld", actor);
  }

  shapeOf(actor: ActorId): string | undefined {
    return this.#actors.get(actor)?.shape;
  }

  describe(actor: ActorId): string | undefined {
    return this.#actors.get(actor)?.className;
  }

  /** The head wants something done. */
  command([name, ...args]: NodeCommandHeader): void {
    if (name === "placeActor") this.#actors.set(args[0] as ActorId, args[1] as { shape: string; className: string });
    if (name === "actorGone") this.#actors.delete(args[0] as ActorId);
    (this.#node[name] as (...given: unknown[]) => void)(...args);
  }

  #tell(name: HeadEventHeader[0], ...args: unknown[]): void {
    const event: HeadEventHeader = [name, ...args];
    this.#link.send(MESSAGE.HEAD_EVENT, event);
  }
}
