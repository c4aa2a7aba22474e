/**
 * Turns the bytes of a log into texts and lines: whole characters, and for each line who wrote it and when. Pure.
 *
 * A chunk may end within a character or a line, which the next chunk continues. Bytes that are no UTF-8 become U+FFFD. A gap is one line
 * by itself, so that missing output never looks like output that follows.
 */
import type { LogChunk } from "./log-reader.ts";

/** Stands where output was removed before it could be read. */
export const GAP_TEXT = "[shoal: older output was removed before it was read]\n";

/** A line of a log, with Ray's names of columns. */
interface LogLine {
  /** When it was written, within a second. 0 where it is not known. */
  readonly time_ms: number;
  /** Empty where no task wrote it, or that is not known. */
  readonly task_id: string;
  /** Name of the task, or class of the actor. */
  readonly name: string;
  readonly line: string;
}

export async function* logTexts(chunks: AsyncIterable<LogChunk>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  for await (const { bytes, isGap } of chunks) {
    if (isGap) yield GAP_TEXT;
    const text = decoder.decode(bytes, { stream: true });
    if (text !== "") yield text;
  }
  const rest = decoder.decode();
  if (rest !== "") yield rest;
}

const LINE_END = 0x0a;

export async function* logLines(chunks: AsyncIterable<LogChunk>): AsyncGenerator<LogLine, void, undefined> {
  let begun: Buffer[] = [];
  let writer = { timeMs: 0, taskId: "", name: "" };
  /** Writer of the line's beginning. */
  let beginner = writer;
  const lineOf = (end: Buffer): LogLine => {
    const { timeMs, taskId, name } = beginner;
    const line = Buffer.concat([...begun, end]).toString("utf8");
    begun = [];
    return { time_ms: timeMs, task_id: taskId, name, line };
  };
  for await (const { bytes, isGap, marks } of chunks) {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (isGap) yield { time_ms: 0, task_id: "", name: "", line: GAP_TEXT.trimEnd() };
    let next = 0;
    for (let at = 0; at < buffer.length; ) {
      for (let mark = marks[next]; mark !== undefined && mark.offset <= at; mark = marks[next]) {
        writer = mark;
        next += 1;
      }
      if (begun.length === 0) beginner = writer;
      const end = buffer.indexOf(LINE_END, at);
      if (end < 0) {
        begun.push(Buffer.from(buffer.subarray(at)));
        break;
      }
      yield lineOf(buffer.subarray(at, end));
      at = end + 1;
    }
  }
  if (begun.length > 0) yield lineOf(Buffer.alloc(0));
}

// oxlint-disable-next-line no-control-regex -- sequences of terminals begin with one
const ESCAPES = /\u001b\[[\d;:?]*[A-Za-z]/g;
/** The beginning of one that goes on in the next text. */
// oxlint-disable-next-line no-control-regex
const BEGUN_ESCAPE = /\u001b(\[[\d;:?]{0,32})?$/;

/** Leaves out colours and other sequences of terminals, as Ray's `filter_ansi_code`. */
export async function* withoutEscapes(texts: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let rest = "";
  for await (const text of texts) {
    const all = (rest + text).replace(ESCAPES, "");
    rest = BEGUN_ESCAPE.exec(all)?.[0] ?? "";
    const shown = rest === "" ? all : all.slice(0, -rest.length);
    if (shown !== "") yield shown;
  }
  if (rest !== "") yield rest;
}
