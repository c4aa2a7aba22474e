/**
 * A node as the head's process sees it: carries the head's commands over the node's link.
 *
 * The other end is `runtime/node/membership/head/remote-head.ts`. Free resources are known from the node's last report. Processes of the node
 * are addressed by name. The head does not know whether they live; the node drops messages to a process that has ended.
 */
import type { NodeId, ProcessId } from "../../base/ids.ts";
import type { NodeView } from "../../base/resources.ts";
import type { HeadPeer, NodeServices } from "../../rpc/head-service.ts";
import type { NodeLink } from "../../rpc/node-link.ts";
import type { PeerConnection, SendOptions } from "../../rpc/peer-connection.ts";
import { FRAME_FLAG } from "../../wire/frame.ts";
import type {
  NodeCommands,
  NodeHoldsHeader,
  NodeInfoHeader,
  NodeRegisterHeader,
  NodeReportHeader,
  RoutedHeader,
} from "../../wire/cluster/cluster-messages.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { wireErrorHeader } from "../../wire/wire-error.ts";

/** Sender of the head's messages. */
const HEAD_ID = "head" as ProcessId;

export class RemoteNode implements NodeServices {
  readonly nodeId: NodeId;
  readonly daemonId: ProcessId;
  readonly facts: NodeRegisterHeader;
  /** Called before anything is sent there. */
  beforeSend: () => void = () => {};
  readonly hold = this.#command("hold");
  readonly release = this.#command("release");
  readonly warn = this.#command("warn");
  readonly placeActor = this.#command("placeActor");
  readonly actorGone = this.#command("actorGone");
  readonly drain = this.#command("drain");
  readonly reserveGroup = this.#command("reserveGroup");
  readonly releaseGroup = this.#command("releaseGroup");
  readonly prepareGroup = this.#command("prepareGroup");
  readonly commitGroup = this.#command("commitGroup");
  readonly abortGroup = this.#command("abortGroup");
  readonly leasesPlaced = this.#command("leasesPlaced");
  readonly tellAll = this.#command("tellAll");
  readonly endActor = this.#command("endActor");
  readonly processGone = this.#command("processGone");
  readonly nodesChanged = this.#command("nodesChanged");
  readonly tellExtension = this.#command("tellExtension");
  readonly #link: Pick<NodeLink, "send" | "sendWhole">;
  #view: NodeView;
  #waiting: NonNullable<NodeReportHeader["waiting"]> = [];
  #holds: NodeHoldsHeader | undefined;
  /** Undefined while it holds anything. */
  #idleSinceMs: number | undefined;

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

  reported(report: NodeReportHeader, nowMs: number): void {
    this.#view = this.#viewOf(report);
    const { waiting = [], holds, hasWorked = false } = report;
    this.#waiting = waiting;
    this.#holds = holds;
    const isIdle = holds !== undefined && Object.values(holds).every((count) => count === 0);
    if (!isIdle) this.#idleSinceMs = undefined;
    else if (hasWorked || this.#idleSinceMs === undefined) this.#idleSinceMs = nowMs;
  }

  /** Shapes of calls and actors that its processes wait for. */
  get waiting(): NonNullable<NodeReportHeader["waiting"]> {
    return this.#waiting;
  }

  get holds(): NodeHoldsHeader | undefined {
    return this.#holds;
  }

  /** Time since it held anything; undefined while it does. */
  idleMs(nowMs: number): number | undefined {
    return this.#idleSinceMs === undefined ? undefined : nowMs - this.#idleSinceMs;
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

  view(): NodeView {
    return this.#view;
  }

  sendWhole(frame: Buffer): void {
    this.#link.sendWhole(frame);
  }

  #viewOf({ total, free }: NodeReportHeader): NodeView {
    return { id: this.nodeId, labels: this.facts.labels, total: new Map(total), free: new Map(free) };
  }

  /** Commands are messages of the same names. */
  #command<Name extends keyof NodeCommands>(name: Name): (...args: NodeCommands[Name]) => void {
    return (...args) => {
      this.beforeSend();
      this.#link.send(MESSAGE.NODE_COMMAND, [name, ...args]);
    };
  }
}
