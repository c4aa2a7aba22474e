/**
 * The index of a file with output: which task wrote from which byte on, and when.
 *
 * One line an entry, its fields apart by tabs. An entry holds up to the next one. An index that is torn, missing or overwritten loses its
 * entries and causes no error: the output beside it is whole without it. Pure.
 */

/** The writer, according to the mark in front of a line. */
export interface OutputSource {
  /** Name of the task's function, `Class.method`, or the class of an idle actor; empty without a mark. */
  readonly name: string;
  /** Empty where no task runs. */
  readonly taskId: string;
}

export interface IndexEntry extends OutputSource {
  /** Where it begins in the file. */
  readonly offset: number;
  /** In milliseconds since 1970. */
  readonly timeMs: number;
}

const FIELD_CHARACTERS_MAX = 200;

/** Where the index of a file is. */
export function indexOf(file: string): string {
  return `${file}${INDEX_SUFFIX}`;
}

export const INDEX_SUFFIX = ".idx";

export function indexLine({ offset, timeMs, taskId, name }: IndexEntry): string {
  return `${[offset, timeMs, plain(taskId), plain(name)].join("\t")}\n`;
}

/** A field must not look like two. */
function plain(text: string): string {
  return text.slice(0, FIELD_CHARACTERS_MAX).replace(/\p{Cc}/gu, " ");
}

/** Returns the entries in order, without those that lie beyond the file or before their predecessor. */
export function parseIndex(text: string, fileBytes: number): IndexEntry[] {
  const entries: IndexEntry[] = [];
  let last = -1;
  for (const line of text.split("\n")) {
    const [offsetText = "", timeText = "", taskId = "", name = "", ...rest] = line.split("\t");
    const offset = Number(offsetText);
    const timeMs = Number(timeText);
    const isWhole = offsetText !== "" && rest.length === 0 && Number.isSafeInteger(offset) && Number.isFinite(timeMs);
    if (!isWhole || offset < Math.max(0, last) || offset > fileBytes) continue;
    // The output of that entry was lost.
    if (offset === last) entries.pop();
    last = offset;
    entries.push({ offset, timeMs, taskId, name });
  }
  return entries;
}
