/**
 * Encodes a transaction as messages: the checks of each subject, and the values to write.
 *
 * Pure. The check of a key rides on the message that writes it. The server verifies all checks and applies all messages in one step, or nothing.
 */
import type { StoreTransaction } from "../control-plane/control-store.ts";
import { DELETION, HEADER, type NatsSubjects } from "./nats-subjects.ts";

export interface TransactionMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

const EMPTY = new Uint8Array(0);

interface MessagesOptions {
  readonly subjects: NatsSubjects;
  /** Identifies the transaction in every attempt. */
  readonly id: string;
  /** Identifies the attempt: an abandoned batch must not be mistaken for this one. */
  readonly batchId: string;
  /** Sequences of deletions, for keys that a check expects to be absent and that were deleted once. */
  readonly deletions: ReadonlyMap<string, number>;
}

/** In the order of the writes, so that the revision of each follows from that of the last message. */
export function messagesOf({ checks = [], writes }: StoreTransaction, options: MessagesOptions): TransactionMessage[] {
  const { subjects, id, batchId, deletions } = options;
  const expected = new Map(checks.map(({ key, revision }) => [key, revision === 0 ? (deletions.get(key) ?? 0) : revision]));
  const messages = writes.map(({ key, value }): TransactionMessage => {
    const sequence = expected.get(key);
    return {
      subject: subjects.ofKey(key),
      data: value ?? EMPTY,
      headers: {
        [HEADER.TRANSACTION]: id,
        ...(value === undefined && { [HEADER.OPERATION]: DELETION }),
        ...(sequence !== undefined && { [HEADER.EXPECTED_SEQUENCE]: String(sequence) }),
      },
    };
  });
  return inOneBatch(messages, batchId);
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
