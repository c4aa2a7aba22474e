/**
 * A transaction as messages: what the stream has to find true of which subject, and what is written.
 *
 * Pure. Each message can carry one check, of its own subject or of another one. A check of a key that is written rides on that key's message;
 * the others ride on messages that have none, and on guards, messages written for their check alone, when those are used up. The server verifies all checks and
 * applies all messages in one step, or nothing.
 */
import type { RevisionCheck, StoreTransaction } from "../store/control-store.ts";
import { DELETION, HEADER, type NatsSubjects } from "./nats-subjects.ts";

export interface TransactionMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

const EMPTY = new Uint8Array(0);

interface MessagesOptions {
  readonly subjects: NatsSubjects;
  /** Which transaction, at every attempt to apply it. */
  readonly id: string;
  /** Which attempt: a batch that was given up must not be taken for this one. */
  readonly batchId: string;
  /** Of keys that a check says do not exist and that were deleted once: the sequence of that deletion. */
  readonly deletions: ReadonlyMap<string, number>;
}

/** The writes come first and in their order, so that the revision of each follows from that of the last message. */
export function messagesOf({ checks = [], writes }: StoreTransaction, options: MessagesOptions): TransactionMessage[] {
  const { subjects, id, batchId, deletions } = options;
  const written = new Set(writes.map(({ key }) => key));
  const own = new Map(checks.filter(({ key }) => written.has(key)).map((check) => [check.key, check]));
  const others = checks.filter(({ key }) => !written.has(key));
  const expect = (check: RevisionCheck): Record<string, string> => ({
    [HEADER.EXPECTED_SEQUENCE]: String(check.revision === 0 ? (deletions.get(check.key) ?? 0) : check.revision),
    ...(written.has(check.key) ? {} : { [HEADER.EXPECTED_SUBJECT]: subjects.ofKey(check.key) }),
  });
  const messages = writes.map(({ key, value }): TransactionMessage => {
    const check = own.get(key) ?? others.pop();
    return {
      subject: subjects.ofKey(key),
      data: value ?? EMPTY,
      headers: {
        [HEADER.TRANSACTION]: id,
        ...(value === undefined && { [HEADER.OPERATION]: DELETION }),
        ...(check && expect(check)),
      },
    };
  });
  const guards = others.map((check): TransactionMessage => ({ subject: subjects.guard, data: EMPTY, headers: expect(check) }));
  return inOneBatch([...messages, ...guards], batchId);
}

/** A single message is atomic by itself, and cheaper. */
function inOneBatch(messages: readonly TransactionMessage[], batchId: string): TransactionMessage[] {
  if (messages.length === 1) return [...messages];
  return messages.map((message, index) => ({
    ...message,
    headers: {
      ...message.headers,
      [HEADER.BATCH_ID]: batchId,
      [HEADER.BATCH_SEQUENCE]: String(index + 1),
      ...(index === messages.length - 1 && { [HEADER.BATCH_COMMIT]: "1" }),
    },
  }));
}
