/**
 * The extensions of one place, the head or a daemon: they begin and end with it, and it passes on their questions.
 *
 * An extension that cannot begin does not stop the place: its questions get the reason as an error. Each question is checked here: the extension and the message
 * must exist, and the header must have the message's shape.
 */
import type { ProcessId } from "../base/ids.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import { problemOf } from "../wire/header-shape.ts";
import type { ExtensionHeader } from "../wire/extension-messages.ts";
import { WireError } from "../wire/wire-error.ts";
import type { ExtensionCaller, ExtensionTable } from "./extension.ts";

/** The members of an extension that all places treat alike. */
interface Parts {
  readonly messages?: ExtensionTable;
  processGone?(process: ProcessId): void;
  close?(): void;
}

const NO_MESSAGES: ExtensionTable = new Map();

export class ExtensionHost<P extends Parts> {
  /** For messages: "the head". */
  readonly #place: string;
  /** The messages of each extension, or why it has not begun. */
  readonly #open = new Map<string, ExtensionTable | Error>();
  readonly #timers: NodeJS.Timeout[] = [];
  protected readonly parts: P[] = [];

  constructor(place: string) {
    this.#place = place;
  }

  receive(asked: ExtensionHeader, { id, connection }: HeadPeer, { callId }: Message): void {
    try {
      const answer = this.#answerOf(asked, { process: id, question: `${id}/${callId}` });
      // What is told has no number.
      if (callId !== 0) connection.reply(callId, answer);
    } catch (error) {
      if (callId !== 0) connection.replyError(callId, error instanceof WireError ? error : refusal(error));
      else console.error(`shoal: extension ${asked.extension} refused ${asked.message}: ${(error as Error).message}`);
    }
  }

  processGone(process: ProcessId): void {
    for (const parts of this.parts) parts.processGone?.(process);
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const parts of this.parts) parts.close?.();
  }

  protected begin(name: string, make: () => P): void {
    try {
      const parts = make();
      this.parts.push(parts);
      this.#open.set(name, parts.messages ?? NO_MESSAGES);
    } catch (error) {
      this.#open.set(name, error as Error);
      console.error(`shoal: extension ${name} of ${this.#place} has not begun: ${(error as Error).message}`);
    }
  }

  protected every(periodMs: number, body: () => void): void {
    this.#timers.push(setInterval(body, periodMs).unref());
  }

  #answerOf({ extension, message, header }: ExtensionHeader, from: ExtensionCaller): unknown {
    const table = this.#open.get(extension);
    if (table === undefined) throw new WireError("notFound", `${this.#place} has no extension ${JSON.stringify(extension)}`);
    if (table instanceof Error)
      throw new WireError("failed", `the extension ${extension} of ${this.#place} has not begun: ${table.message}`);
    const row = table.get(message);
    if (row === undefined)
      throw new WireError("malformed", `the extension ${extension} of ${this.#place} has no message ${JSON.stringify(message)}`);
    if (!row.asks(header))
      throw new WireError("malformed", `the message ${message} of ${extension} is malformed: ${problemOf(row.asks, header)}`);
    return row.answer(header, from);
  }
}

/** By its name and not by its class: the extension may have been loaded with another copy of this module. */
function refusal(error: unknown): WireError {
  const { name, message, details } = error as Error & { details?: unknown };
  const plain = typeof details === "object" && details !== null ? details : {};
  return new WireError("extension", message, { ...plain, name });
}
