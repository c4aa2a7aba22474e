/**
 * A cluster daemon's view of the head: the same two interfaces as on one machine, over the link to the head's process.
 *
 * Processes' questions to the head are passed on with the asking process's id, by which the head answers. The node's reports travel as HEAD_EVENT, and the head's
 * commands as NODE_COMMAND. Both carry the name of a method of `runtime/rpc/head-service.ts` and its arguments. The node remembers from the commands the few facts of
 * actors that it must know at once.
 */
import { type ActorId, nodeTagOf, type ProcessId } from "../../../base/ids.ts";
import { type AskedMessage, frameForHead, HeadQuestions } from "./head-questions.ts";
import type { HeadPeer, HeadService, NodeServices } from "../../../rpc/head-service.ts";
import type { Message, PeerConnection } from "../../../rpc/peer-connection.ts";
import type {
  ActorToPlace,
  GroupPreparation,
  HeadEventHeader,
  HeadEvents,
  NodeCommandHeader,
  NodeCommands,
  NodeDigestHeader,
} from "../../../wire/cluster/cluster-messages.ts";
import { type GroupCreateHeader, MESSAGE } from "../../../wire/messages.ts";
import { makeCall } from "../../../wire/tables/message-table.ts";

/** The link to the head, whichever leads. */
export interface HeadLink extends Pick<PeerConnection, "send"> {
  sendWhole(frame: Buffer): void;
  /** Messages that no head has acknowledged. The link itself sends them to another head. */
  readonly kept: ReadonlySet<Buffer>;
}

export class RemoteHead implements HeadService {
  readonly #link: HeadLink;
  readonly #node: NodeServices;
  readonly #questions = new HeadQuestions();
  readonly #actors = new Map<ActorId, ActorToPlace>();
  /** The head's facts of groups with bundles here. */
  readonly #groups = new Map<string, GroupCreateHeader>();
  #heads = 0;
  readonly placed = this.#telling("placed");
  readonly refused = this.#telling("refused");
  readonly groupReserved = this.#telling("groupReserved");
  readonly groupPrepared = this.#telling("groupPrepared");
  readonly actorFull = this.#telling("actorFull");
  readonly leasesWanted = this.#telling("leasesWanted");
  readonly workerExited = this.#telling("workerExited");
  readonly workerLeaves = this.#telling("workerLeaves");
  readonly unheld = this.#telling("unheld");
  readonly definitionUnheld = this.#telling("definitionUnheld");

  constructor(link: HeadLink, node: NodeServices) {
    this.#link = link;
    this.#node = node;
  }

  receive(peer: HeadPeer, { type, callId, flags, body }: Message, header: unknown): void {
    // Processes of other nodes ask by their own daemons; the head would not believe this one.
    if (nodeTagOf(peer.id) !== nodeTagOf(this.#node.nodeId)) return;
    const message: AskedMessage = [peer.id, { type, callId, flags, body }, header];
    const frame = frameForHead(message);
    this.#questions.asked(message, frame);
    this.#link.sendWhole(frame);
  }

  processGone(process: ProcessId): void {
    this.#questions.processGone(process);
    this.#tell("processGone", process);
  }

  shapeOf(actor: ActorId): string | undefined {
    return this.#actors.get(actor)?.shape;
  }

  describe(actor: ActorId): string | undefined {
    return this.#actors.get(actor)?.className;
  }

  /** Prepares for another head, which itself repeats or drops the last head's requests. @returns the digest with the last head's facts of the actors */
  registering({ actors, ...digest }: NodeDigestHeader): NodeDigestHeader {
    this.#heads += 1;
    const placed = new Set(actors.map(({ actorId }) => actorId));
    for (const actor of Array.from(this.#actors.keys()).filter((id) => !placed.has(id))) {
      this.#actors.delete(actor);
      this.#node.actorGone(actor);
    }
    const held = new Set(digest.bundles.map(([group]) => group));
    for (const group of Array.from(this.#groups.keys()).filter((id) => !held.has(id))) this.#groups.delete(group);
    return {
      ...digest,
      heads: this.#heads,
      actors: actors.map((actor) => ({ ...actor, facts: this.#actors.get(actor.actorId)?.facts })),
      groups: Array.from(this.#groups.values()),
    };
  }

  /** Called once the head knows this node. Messages sent here go ahead of the link's kept ones. */
  registered(): void {
    for (const frame of this.#questions.again(this.#link.kept)) this.#link.sendWhole(frame);
  }

  answered(to: ProcessId, callId: number): void {
    this.#questions.answered(to, callId);
  }

  /** The head wants something done. */
  command(command: NodeCommandHeader): void {
    if (command[0] === "processGone") {
      const [, ...processes] = command;
      for (const process of processes) this.#processGone(process);
      return;
    }
    if (command[0] === "placeActor") this.#actors.set(command[1], command[2]);
    if (command[0] === "actorGone") this.#actors.delete(command[1]);
    if (command[0] === "prepareGroup") this.#remember(command[2]);
    if (command[0] === "releaseGroup") this.#groups.delete(command[1]);
    makeCall<Omit<NodeCommands, "processGone">>(this.#node, command);
  }

  /** All nodes are told the same, the one where it was among them. */
  #processGone(process: ProcessId): void {
    if (nodeTagOf(process) !== nodeTagOf(this.#node.nodeId)) this.#node.processGone(process);
  }

  #remember({ facts }: GroupPreparation): void {
    if (facts !== undefined) this.#groups.set(facts.id, facts);
  }

  #telling<Name extends keyof HeadEvents>(name: Name): (...args: HeadEvents[Name]) => void {
    return (...args) => this.#tell(...([name, ...args] as unknown as HeadEventHeader));
  }

  #tell(...event: HeadEventHeader): void {
    this.#link.send(MESSAGE.HEAD_EVENT, event, { callId: this.#heads });
  }
}
