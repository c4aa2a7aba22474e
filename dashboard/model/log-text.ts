/**
 * The text of a log as the page keeps it: the last lines, bounded, without colours and with odd characters as escapes.
 *
 * Steps arrive with parts of lines, so the last line may go on. The numbers of lines go on, too, when older lines are dropped. Pure.
 */
import { visibleText } from "./visible-text.ts";

const LINES_MAX = 5_000;
const LINE_CHARACTERS_MAX = 10_000;
// oxlint-disable-next-line no-control-regex -- sequences of terminals begin with one
const ESCAPES = /\u001b\[[\d;:?]*[A-Za-z]/g;

export interface LogText {
  readonly lines: readonly string[];
  /** Lines that were dropped, before the first one. */
  readonly dropped: number;
  /** The last line has no end yet. */
  readonly isOpen: boolean;
}

export const EMPTY_LOG: LogText = { lines: [], dropped: 0, isOpen: false };

export function withText(log: LogText, text: string): LogText {
  if (text === "") return log;
  const parts = text.split("\n");
  const lines = [...log.lines];
  if (log.isOpen) lines[lines.length - 1] = `${lines.at(-1)}${parts.shift()}`.slice(0, LINE_CHARACTERS_MAX + 1);
  lines.push(...parts.map((line) => line.slice(0, LINE_CHARACTERS_MAX + 1)));
  const isOpen = !text.endsWith("\n");
  if (!isOpen) lines.pop();
  const surplus = Math.max(0, lines.length - LINES_MAX);
  return { lines: lines.slice(surplus), dropped: log.dropped + surplus, isOpen };
}

/** A line as it is shown. Programs that draw bars print a return instead of a line end: a terminal shows the last part. */
export function shownLine(line: string): string {
  const plain = line.replace(ESCAPES, "").replace(/\r$/, "");
  return visibleText(plain.slice(plain.lastIndexOf("\r") + 1).replaceAll("\t", "    "), LINE_CHARACTERS_MAX);
}
