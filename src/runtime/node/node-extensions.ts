/**
 * The extensions of a node's daemon: they begin and end with it, answer its processes, and learn of their ends.
 *
 * The daemon owns them. An extension that cannot begin does not stop the node: its questions get the reason as an error.
 */
import type { JobId, ProcessId } from "../base/ids.ts";
import type { NodeContext, NodeParts } from "../extension/extension.ts";
import { ExtensionHost } from "../extension/extension-host.ts";
import type { HeadPeer, HeadService } from "../rpc/head-service.ts";
import type { PeerConnection } from "../rpc/peer-connection.ts";
import type { ExtensionHeader } from "../wire/calls/extension-messages.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { NodeDaemonOptions } from "./daemon-options.ts";

const NO_BYTES = new Uint8Array(0);
/** The daemon's own connection for messages to the head without an answer. */
const TELLS_ONLY: PeerConnection = {
  send: () => {},
  request: () => Promise.reject(new Error("the daemon is asked nothing")),
  reply: () => {},
  replyError: () => {},
};

/** The sender of the head's messages. */
const HEAD: HeadPeer = { id: "head" as ProcessId, holderId: "head" as ProcessId, connection: TELLS_ONLY };

export class NodeExtensions extends ExtensionHost<NodeParts> {
  constructor(
    { extensions = [], extensionFolders: folders, nodeId, processId: id, nowMs }: NodeDaemonOptions,
    { head, warn, acceleratorsOf }: { head: HeadService } & Pick<NodeContext, "warn" | "acceleratorsOf">,
  ) {
    super("the node");
    const daemon: HeadPeer = { id, holderId: id, connection: TELLS_ONLY };
    const every = (periodMs: number, body: () => void): void => this.every(periodMs, body);
    for (const { name, node } of extensions) {
      const tellHead = (message: string, header: unknown): void => {
        const told: ExtensionHeader = { extension: name, message, header };
        head.receive(daemon, { type: MESSAGE.EXTENSION, callId: 0, flags: 0, body: NO_BYTES }, told);
      };
      if (node !== undefined) this.begin(name, () => node({ nodeId, folders, nowMs, every, warn, tellHead, acceleratorsOf }));
    }
  }

  /** Handles a message of the head's extension of the same name. */
  toldByHead(told: ExtensionHeader): void {
    this.receive(told, HEAD, { type: MESSAGE.NODE_EXTENSION, callId: 0, flags: 0, body: NO_BYTES });
  }

  /** The work of all extensions that a drained node waits for. */
  get work(): number {
    return this.parts.reduce((sum, parts) => sum + (parts.work?.() ?? 0), 0);
  }

  processJoined(process: ProcessId, kind: "driver" | "worker", facts: { job: JobId; pid: number }): void {
    for (const parts of this.parts) parts.processJoined?.(process, kind, facts);
  }
}
