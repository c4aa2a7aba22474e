/**
 * Subjects of the bus and the patterns that subscribe to them, as NATS has them: words joined by dots, `*` for one word, `>` at the end for the rest.
 *
 * Pure. What a caller passes by mistake is refused here, before anything is sent.
 */
import { describeValue } from "../../base/describe.ts";
import { MESSAGE_BYTES_MAX, SUBJECT_LENGTH_MAX } from "../limits.ts";

const WORD = /^[^\s.*>]+$/;

function checkSubject(subject: string): void {
  checkWords(subject, (word) => WORD.test(word), "a subject is words with dots between them, without spaces, * and >");
}

export function checkPattern(pattern: string): void {
  checkWords(
    pattern,
    (word, isLast) => word === "*" || (word === ">" && isLast) || WORD.test(word),
    "a pattern is words with dots between them, * for one word, > at the end for the rest",
  );
}

export function checkMessage(subject: string, data: Uint8Array): void {
  checkSubject(subject);
  if (!(data instanceof Uint8Array))
    throw new TypeError(`Cannot send to ${subject}: a message is a Uint8Array: received ${describeValue(data)}`);
  if (data.byteLength <= MESSAGE_BYTES_MAX) return;
  throw new RangeError(`Cannot send to ${subject}: a message may have ${MESSAGE_BYTES_MAX} bytes: received ${data.byteLength}`);
}

export function matches(pattern: string, subject: string): boolean {
  const wanted = pattern.split(".");
  const words = subject.split(".");
  for (const [index, word] of wanted.entries()) {
    if (word === ">") return words.length > index;
    if (word !== "*" && word !== words[index]) return false;
  }
  return words.length === wanted.length;
}

function checkWords(text: string, isWord: (word: string, isLast: boolean) => boolean, rule: string): void {
  if (typeof text !== "string") throw new TypeError(`Cannot use the subject: ${rule}: received ${describeValue(text)}`);
  const words = text.split(".");
  if (text.length <= SUBJECT_LENGTH_MAX && words.every((word, index) => isWord(word, index === words.length - 1))) return;
  throw new RangeError(`Cannot use the subject: ${rule}, at most ${SUBJECT_LENGTH_MAX} characters: received ${describeValue(text)}`);
}
