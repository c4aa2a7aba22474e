/**
 * The extensions of the head: begun with it, asked through it, told of processes and nodes, ended with it.
 *
 * An extension that cannot begin does not keep the head from leading: whoever asks it is told why. Timers run as events of the head do, so that what they change is kept
 * before anybody hears of it.
 */
import type { NodeId, ProcessId } from "../base/ids.ts";
import { answerQuestion } from "../extension/answer-question.ts";
import type { Extension, ExtensionTable, HeadParts } from "../extension/extension.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import type { ExtensionHeader } from "../wire/extension-messages.ts";
import { telemetryExtension } from "../events/telemetry-extension.ts";
import type { ExtensionRecords } from "./extension-records.ts";

interface HeadExtensionsOptions {
  readonly extensions: readonly Extension[];
  readonly records: ExtensionRecords;
  readonly nowMs: () => number;
  readonly warn: (text: string) => void;
  /** One event of the head. */
  readonly run: (body: () => void) => void;
}

const NO_MESSAGES: ExtensionTable = new Map();

export class HeadExtensions {
  readonly #open = new Map<string, ExtensionTable | Error>();
  readonly #parts: HeadParts[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  constructor({ extensions, records, nowMs, warn, run }: HeadExtensionsOptions) {
    const every = (periodMs: number, body: () => void): void => {
      this.#timers.push(setInterval(() => run(body), periodMs).unref());
    };
    for (const { name, head } of [telemetryExtension, ...extensions]) {
      if (head === undefined) continue;
      try {
        const parts = head({ nowMs, every, warn, table: (table, shape) => records.table(name, table, shape) });
        this.#parts.push(parts);
        this.#open.set(name, parts.messages ?? NO_MESSAGES);
      } catch (error) {
        this.#open.set(name, error as Error);
        console.error(`shoal: extension ${name} of the head has not begun: ${(error as Error).message}`);
      }
    }
  }

  receive(asked: ExtensionHeader, peer: HeadPeer, message: Message): void {
    answerQuestion(this.#open, "the head", asked, peer, message);
  }

  processGone(process: ProcessId): void {
    for (const parts of this.#parts) parts.processGone?.(process);
  }

  nodeJoined(node: NodeId): void {
    for (const parts of this.#parts) parts.nodeJoined?.(node);
  }

  nodeGone(node: NodeId, reason: string): void {
    for (const parts of this.#parts) parts.nodeGone?.(node, reason);
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const parts of this.#parts) parts.close?.();
  }
}
