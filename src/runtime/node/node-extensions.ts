/**
 * The extensions of a node's daemon: begun with it, asked by its processes, told of them, ended with it.
 *
 * Owned by the daemon. An extension that cannot begin does not keep the node from working: whoever asks it is told why.
 */
import type { JobId, ProcessId } from "../base/ids.ts";
import { answerQuestion } from "../extension/answer-question.ts";
import type { ExtensionTable, NodeParts } from "../extension/extension.ts";
import type { HeadPeer, HeadService } from "../rpc/head-service.ts";
import type { Message, PeerConnection } from "../rpc/peer-connection.ts";
import type { ExtensionHeader } from "../wire/extension-messages.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { NodeDaemonOptions } from "./daemon-options.ts";

const NO_MESSAGES: ExtensionTable = new Map();
const NO_BYTES = new Uint8Array(0);
/** Of the daemon itself, as one that tells the head something: no answer reaches it. */
const TELLS_ONLY: PeerConnection = {
  send: () => {},
  request: () => Promise.reject(new Error("the daemon is asked nothing")),
  reply: () => {},
  replyError: () => {},
};

export class NodeExtensions {
  readonly #open = new Map<string, ExtensionTable | Error>();
  readonly #parts: NodeParts[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(
    { extensions = [], nodeId, processId: id, nowMs }: NodeDaemonOptions,
    { head, warn }: { head: HeadService; warn: (text: string) => void },
  ) {
    const daemon: HeadPeer = { id, holderId: id, connection: TELLS_ONLY };
    const every = (periodMs: number, body: () => void): void => void this.#timers.push(setInterval(body, periodMs).unref());
    for (const { name, node } of extensions) {
      if (node === undefined) continue;
      try {
        const tellHead = (message: string, header: unknown): void => {
          const told: ExtensionHeader = { extension: name, message, header };
          head.receive(daemon, { type: MESSAGE.EXTENSION, callId: 0, flags: 0, body: NO_BYTES }, told);
        };
        const parts = node({ nodeId, nowMs, every, warn, tellHead });
        this.#parts.push(parts);
        this.#open.set(name, parts.messages ?? NO_MESSAGES);
      } catch (error) {
        this.#open.set(name, error as Error);
        console.error(`shoal: extension ${name} of the node has not begun: ${(error as Error).message}`);
      }
    }
  }

  receive(asked: ExtensionHeader, peer: HeadPeer, message: Message): void {
    answerQuestion(this.#open, "the node", asked, peer, message);
  }

  processJoined(process: ProcessId, kind: "driver" | "worker", job: JobId): void {
    for (const parts of this.#parts) parts.processJoined?.(process, kind, job);
  }

  processGone(process: ProcessId): void {
    for (const parts of this.#parts) parts.processGone?.(process);
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const parts of this.#parts) parts.close?.();
  }
}
