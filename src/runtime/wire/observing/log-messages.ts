/**
 * The headers of questions about the log files of a node, and of their answers; the numbers are in `messages.ts`.
 *
 * A question names one node, whose daemon lists or reads the files in the node's folder. Bytes of a log are the body of the answer.
 */
import { count, fields, flag, list, named, number, type Of, optional, text, tuple } from "../header-shape.ts";

export const logListAsked = fields({
  node: text,
  /** With `*` and `?`. */
  glob: text,
});

const logFile = named(
  "log file",
  fields({
    name: text,
    sizeBytes: count,
    modifiedMs: number,
    /** Whether more may be written to it. */
    isLive: flag,
  }),
);
export type LogFileHeader = Of<typeof logFile>;

/** The newest first. `matching` counts files that are not named, too. */
export const logListAnswer = fields({ files: list(logFile), matching: count });

export const logReadAsked = fields({
  node: text,
  name: text,
  /** `next` of the answer before. */
  from: optional(text),
  /** Without `from`: lines from the end; absent: all. */
  tail: optional(count),
  /** Only output of this task. */
  taskId: optional(text),
  /** Whether the answer says who wrote what. */
  withMarks: optional(flag),
});
export type LogReadHeader = Of<typeof logReadAsked>;

/** From this byte of the body on: the time in milliseconds since 1970, the task and the name of the writer. */
const mark = tuple(count, number, text, text);

export const logReadAnswer = fields({
  next: text,
  /** Nothing more is there now. */
  isEnd: flag,
  /** Output between the last answer and this one was removed. */
  isGap: flag,
  isLive: flag,
  marks: list(mark),
});
