/**
 * The extensions of a node's daemon: begun with it, asked by its processes, told of them, ended with it.
 *
 * Owned by the daemon. An extension that cannot begin does not keep the node from working: whoever asks it is told why.
 */
import type { JobId, NodeId, ProcessId } from "../base/ids.ts";
import { answerQuestion } from "../extension/answer-question.ts";
import type { Extension, ExtensionTable, NodeParts } from "../extension/extension.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import type { ExtensionHeader } from "../wire/extension-messages.ts";

interface NodeExtensionsOptions {
  readonly extensions: readonly Extension[];
  readonly nodeId: NodeId;
  readonly nowMs: () => number;
  readonly warn: (text: string) => void;
  readonly tellHead: (header: ExtensionHeader) => void;
}

const NO_MESSAGES: ExtensionTable = new Map();

export class NodeExtensions {
  readonly #open = new Map<string, ExtensionTable | Error>();
  readonly #parts: NodeParts[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  constructor({ extensions, nodeId, nowMs, warn, tellHead }: NodeExtensionsOptions) {
    const every = (periodMs: number, body: () => void): void => void this.#timers.push(setInterval(body, periodMs).unref());
    for (const { name, node } of extensions) {
      if (node === undefined) continue;
      try {
        const tell = (message: string, header: unknown): void => tellHead({ extension: name, message, header });
        const parts = node({ nodeId, nowMs, every, warn, tellHead: tell });
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
