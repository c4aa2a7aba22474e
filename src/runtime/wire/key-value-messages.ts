/**
 * The headers of questions about values that programs keep by name at the head, and their limits; the numbers are in `messages.ts`.
 *
 * They go from a process to the head as other questions do. A value is the body of the question or the answer.
 */

/** Bytes as they are, or JSON text. */
export type KeyValueForm = "bytes" | "json";

export interface KeyValueNameHeader {
  namespace: string;
  key: string;
}

/** A question for a value; without `withValue` only whether it is there is wanted. */
export interface KeyValueGetHeader extends KeyValueNameHeader {
  withValue: boolean;
}

/** Answered with whether it was put. */
export interface KeyValuePutHeader extends KeyValueNameHeader {
  form: KeyValueForm;
  overwrite: boolean;
}

/** To a question for a value: its form; undefined where there is none. */
export type KeyValueReply = KeyValueForm | undefined;

/** Answered with the keys. */
export interface KeyValueListHeader {
  namespace: string;
  prefix: string;
}
