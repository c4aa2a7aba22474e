/**
 * A node as the head's process sees it: what the head wants done there, over the node's link.
 *
 * The other end is `runtime/node/membership/remote-head.ts`. What is free there is known from the node's last report. A process of the node is reached by name; that it lives
 * is not known here, and what is said to one that has gone is dropped there.
 */
import type { ActorId, NodeId, ObjectId, ProcessId } from "../../base/ids.ts";
import type { NodeView } from "../../base/resources.ts";
import type { HeadPeer, NodeServices } from "../../rpc/head-service.ts";
import type { NodeLink } from "../../rpc/node-link.ts";
import type { PeerConnection, SendOptions } from "../../rpc/peer-connection.ts";
import { FRAME_FLAG } from "../../wire/frame.ts";
import type {
  ActorToPlace,
  GroupPreparation,
  LeaseAnswerHeader,
  NodeCommandHeader,
  NodeInfoHeader,
  NodeRegisterHeader,
  NodeReportHeader,
  RoutedHeader,
} from "../../wire/cluster-messages.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { wireErrorHeader } from "../../wire/wire-error.ts";

/** How the head signs what it says. */
const HEAD_ID = "head" as ProcessId;

export class RemoteNode implements NodeServices {
  readonly nodeId: NodeId;
  readonly daemonId: ProcessId;
  readonly facts: NodeRegisterHeader;
  /** Called before anything is sent there. */
  beforeSend: () => void = () => {};
  readonly #link: Pick<NodeLink, "send" | "sendWhole">;
  #view: NodeView;

  constructor(link: Pick<NodeLink, "send" | "sendWhole">, facts: NodeRegisterHeader, report: NodeReportHeader) {
    this.#link = link;
    this.facts = facts;
    this.nodeId = facts.nodeId;
    this.daemonId = facts.daemonId;
    this.#view = this.#viewOf(report);
  }

  get info(): NodeInfoHeader {
    const { version: _version, pid: _pid, incarnation: _incarnation, ...info } = this.facts;
    return { ...info, alive: true };
  }

  reported(report: NodeReportHeader): void {
    this.#view = this.#viewOf(report);
  }

  peer(id: ProcessId): HeadPeer {
    const send = (type: number, header: unknown, { callId = 0, flags = 0, parts }: SendOptions = {}): void => {
      const routed: RoutedHeader = [HEAD_ID, id, type, callId, flags, header];
      this.beforeSend();
      this.#link.send(MESSAGE.ROUTED, routed, parts === undefined ? {} : { parts });
    };
    const connection: PeerConnection = {
      send,
      request: () => Promise.reject(new Error("the head asks no process")),
      reply: (callId, header, parts = []) => send(MESSAGE.REPLY, header, { callId, parts }),
      replyError: (callId, error) => send(MESSAGE.REPLY, wireErrorHeader(error), { callId, flags: FRAME_FLAG.ERROR }),
    };
    return { id, holderId: id, connection };
  }

  hold(ref: { id: ObjectId; owner: ProcessId }, holder: ProcessId): void {
    this.#command("hold", ref, holder);
  }

  release(ref: { id: ObjectId; owner: ProcessId }, holder: ProcessId): void {
    this.#command("release", ref, holder);
  }

  warn(text: string): void {
    this.#command("warn", text);
  }

  placeActor(actor: ActorId, { shape, resources, className, sent, facts }: ActorToPlace): void {
    this.#command("placeActor", actor, { shape, resources, className, sent, facts });
  }

  leasesPlaced(question: number, answer: LeaseAnswerHeader): void {
    this.#command("leasesPlaced", question, answer);
  }

  prepareGroup(group: string, preparation: GroupPreparation): void {
    this.#command("prepareGroup", group, preparation);
  }

  commitGroup(group: string, attempt: number): void {
    this.#command("commitGroup", group, attempt);
  }

  abortGroup(group: string, attempt: number): void {
    this.#command("abortGroup", group, attempt);
  }

  actorGone(actor: ActorId): void {
    this.#command("actorGone", actor);
  }

  view(): NodeView {
    return this.#view;
  }

  reserveGroup(group: string, bundles: readonly { index: number; resources: Record<string, number> }[]): void {
    this.#command("reserveGroup", group, bundles);
  }

  releaseGroup(group: string): void {
    this.#command("releaseGroup", group);
  }

  tellAll(type: number, header: unknown): void {
    this.#command("tellAll", type, header);
  }

  endActor(worker: ProcessId, { afterPending, reason }: { afterPending: boolean; reason: string }): void {
    this.#command("endActor", worker, { afterPending, reason });
  }

  drain(deadlineMs: number | undefined): void {
    this.#command("drain", deadlineMs);
  }

  processGone(process: ProcessId): void {
    this.#command("processGone", process);
  }

  nodesChanged(nodes: readonly NodeInfoHeader[]): void {
    this.#command("nodesChanged", nodes);
  }

  #viewOf({ total, free }: NodeReportHeader): NodeView {
    return { id: this.nodeId, labels: this.facts.labels, total: new Map(total), free: new Map(free) };
  }

  sendWhole(frame: Buffer): void {
    this.#link.sendWhole(frame);
  }

  #command(...command: NodeCommandHeader): void {
    this.beforeSend();
    this.#link.send(MESSAGE.NODE_COMMAND, command);
  }
}
