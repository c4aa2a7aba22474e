/**
 * The extensions of one place, the head or a daemon: they begin and end with it, and it passes on their questions.
 *
 * An extension that cannot begin does not stop the place: its questions get the reason as an error. Each question is checked here: the extension and the message
 * must exist, and the header must have the message's shape.
 */
import { asError, messageOf } from "../base/texts/describe.ts";
import type { ProcessId } from "../base/ids.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import { problemOf } from "../wire/header-shape.ts";
import type { ExtensionHeader } from "../wire/calls/extension-messages.ts";
import { WireError } from "../wire/wire-error.ts";
import { bytesOf, type ExtensionCaller, type ExtensionTable } from "./extension.ts";
import { ANSWER_BYTES_MAX, LATER_ANSWERS_MAX } from "./limits.ts";

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
  /** Answers that handlers have promised. */
  #laterAnswers = 0;
  protected readonly parts: P[] = [];

  constructor(place: string) {
    this.#place = place;
  }

  receive(asked: ExtensionHeader, { id, connection }: HeadPeer, { callId }: Message): void {
    const reply = (answer: unknown): void => {
      // A message that expects no answer has no number.
      if (callId === 0) return;
      const bytes = bytesOf(answer);
      if (bytes === undefined) connection.reply(callId, answer);
      else if (bytes.byteLength > ANSWER_BYTES_MAX)
        refuse(new RangeError(`its answer has ${bytes.byteLength} bytes: ${ANSWER_BYTES_MAX} are the most`));
      else connection.reply(callId, (answer as { header: unknown }).header, [bytes]);
    };
    const refuse = (error: unknown): void => {
      if (callId !== 0) connection.replyError(callId, error instanceof WireError ? error : refusal(error));
      else console.error(`shoal: extension ${asked.extension} refused ${asked.message}: ${messageOf(error)}`);
    };
    try {
      const { answer, withinMs } = this.#answerOf(asked, { process: id, question: `${id}/${callId}` });
      if (answer instanceof Promise) this.#later(asked, { answer, withinMs }).then(reply).catch(refuse);
      else reply(answer);
    } catch (error) {
      refuse(error);
    }
  }

  /** Bounds the number of promised answers and the time of each. */
  async #later(
    { extension, message }: ExtensionHeader,
    { answer, withinMs }: { answer: Promise<unknown>; withinMs: number },
  ): Promise<unknown> {
    if (this.#laterAnswers >= LATER_ANSWERS_MAX) {
      answer.catch(() => {});
      throw new WireError("failed", `${this.#place} has promised ${LATER_ANSWERS_MAX} answers already`);
    }
    this.#laterAnswers += 1;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(new WireError("failed", `the extension ${extension} of ${this.#place} did not answer ${message} within ${withinMs} ms`));
    }, withinMs).unref();
    try {
      return await Promise.race([answer, late.promise]);
    } finally {
      clearTimeout(timer);
      this.#laterAnswers -= 1;
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
      this.#open.set(name, asError(error));
      console.error(`shoal: extension ${name} of ${this.#place} has not begun: ${messageOf(error)}`);
    }
  }

  protected every(periodMs: number, body: () => void): void {
    this.#timers.push(setInterval(body, periodMs).unref());
  }

  #answerOf({ extension, message, header }: ExtensionHeader, from: ExtensionCaller): { answer: unknown; withinMs: number } {
    const table = this.#open.get(extension);
    if (table === undefined) throw new WireError("notFound", `${this.#place} has no extension ${JSON.stringify(extension)}`);
    if (table instanceof Error)
      throw new WireError("failed", `the extension ${extension} of ${this.#place} has not begun: ${table.message}`);
    const row = table.get(message);
    if (row === undefined)
      throw new WireError("malformed", `the extension ${extension} of ${this.#place} has no message ${JSON.stringify(message)}`);
    if (!row.asks(header))
      throw new WireError("malformed", `the message ${message} of ${extension} is malformed: ${problemOf(row.asks, header)}`);
    return { answer: row.answer(header, from), withinMs: row.withinMs };
  }
}

/** By its name and not by its class: the extension may have been loaded with another copy of this module. */
function refusal(error: unknown): WireError {
  const { name, message, details } = error as Error & { details?: unknown };
  const plain = typeof details === "object" && details !== null ? details : {};
  return new WireError("extension", message, { ...plain, name });
}
