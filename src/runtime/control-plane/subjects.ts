/**
 * Subjects of the bus, as NATS has them: words joined by dots.
 *
 * Pure. Invalid subjects are refused here, before anything is sent.
 */
import { describeValue } from "../base/texts/describe.ts";
import { MESSAGE_BYTES_MAX, SUBJECT_LENGTH_MAX } from "./limits.ts";

const SUBJECT = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

export function checkSubject(subject: string): void {
  const rule = `a subject is words with dots between them, without spaces, * and >, at most ${SUBJECT_LENGTH_MAX} characters`;
  if (typeof subject !== "string") throw new TypeError(`Cannot use the subject: ${rule}: received ${describeValue(subject)}`);
  if (subject.length <= SUBJECT_LENGTH_MAX && SUBJECT.test(subject)) return;
  throw new RangeError(`Cannot use the subject: ${rule}: received ${describeValue(subject)}`);
}

export function checkMessage(subject: string, data: Uint8Array): void {
  checkSubject(subject);
  if (!(data instanceof Uint8Array))
    throw new TypeError(`Cannot send to ${subject}: a message is a Uint8Array: received ${describeValue(data)}`);
  if (data.byteLength <= MESSAGE_BYTES_MAX) return;
  throw new RangeError(`Cannot send to ${subject}: a message may have ${MESSAGE_BYTES_MAX} bytes: received ${data.byteLength}`);
}
