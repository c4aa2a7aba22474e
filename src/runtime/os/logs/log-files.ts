/**
 * Lists and reads the log files of a folder in bounded steps, older pieces of a rotated file included.
 *
 * A file is found by comparing the wanted name with a listing, and links are refused, so no name leads out of the folder. A place in a log
 * is the identity of a file and an offset. A reader thus goes on where it was although files are renamed meanwhile. Nothing is read into
 * memory but the step under way.
 */
import { constants, type Dirent } from "node:fs";
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type IndexEntry, indexOf, parseIndex } from "./log-index.ts";
import {
  INDEX_BYTES_MAX,
  LOG_ANSWER_BYTES_MAX,
  LOG_ANSWER_MARKS_MAX,
  LOG_STEP_BYTES,
  OUTPUT_FILES_MAX,
  OUTPUT_OF_NODE_FILES_MAX,
} from "./limits.ts";
import { isLogName, matchesGlob, withoutNumber } from "./log-names.ts";

export interface LogFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

export interface LogQuestion {
  /** From a listing. */
  readonly name: string;
  /** Where the answer before ended. */
  readonly from?: string | undefined;
  /** Lines from the end, for the first answer; undefined: all. */
  readonly tail?: number | undefined;
  /** Only output of this task. */
  readonly taskId?: string | undefined;
  /** Whether the answer names who wrote what. */
  readonly withMarks?: boolean | undefined;
}

/** The writer from this byte of an answer on. */
export interface LogMark extends IndexEntry {}

export interface LogAnswer {
  readonly bytes: Buffer;
  /** Where the next answer begins. */
  readonly next: string;
  /** Nothing more is there now. */
  readonly isEnd: boolean;
  /** Output between the last answer and this one was removed. */
  readonly isGap: boolean;
  readonly marks: LogMark[];
}

/** Lists logs, the newest first. `matching` counts those too that are not named. */
export async function listLogFiles(folder: string, glob: string): Promise<{ files: LogFile[]; matching: number }> {
  const names = (await entriesOf(folder)).filter((name) => matchesGlob(name, glob));
  const found: LogFile[] = [];
  for (const name of names) {
    const facts = await stat(join(folder, name)).catch(() => undefined);
    if (facts !== undefined) found.push({ name, sizeBytes: facts.size, modifiedMs: Math.trunc(facts.mtimeMs) });
  }
  found.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.name < b.name ? -1 : 1));
  return { files: found.slice(0, OUTPUT_OF_NODE_FILES_MAX), matching: found.length };
}

async function entriesOf(folder: string): Promise<string[]> {
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() && isLogName(entry.name)).map(({ name }) => name);
}

/** Returns the next bytes of a log; undefined when the folder has no such file. */
export async function readLog(folder: string, question: LogQuestion): Promise<LogAnswer | undefined> {
  const pieces = await openPieces(folder, question.name);
  if (pieces.length === 0) return undefined;
  try {
    const parts = await partsOf(pieces, question);
    return await readParts(pieces, parts, question);
  } finally {
    await Promise.allSettled(pieces.map(({ handle }) => handle.close()));
  }
}

/** A file of a log, the oldest first. */
interface Piece {
  readonly path: string;
  readonly handle: FileHandle;
  /** Identity that survives renaming. It has the time of birth, as systems use inodes again. */
  readonly id: string;
  readonly sizeBytes: number;
}

/** Bytes of a piece that are asked for. */
interface Part {
  readonly piece: number;
  readonly begin: number;
  readonly end: number;
}

async function openPieces(folder: string, name: string): Promise<Piece[]> {
  const known = new Set(await entriesOf(folder));
  const isNumbered = name !== withoutNumber(name);
  // From the newest to the oldest: a file that is renamed meanwhile is met twice, never missed.
  const names = isNumbered ? [name] : Array.from({ length: OUTPUT_FILES_MAX }, (_, number) => (number === 0 ? name : `${name}.${number}`));
  const pieces: Piece[] = [];
  for (const wanted of names) {
    if (wanted === name && !known.has(name)) return [];
    const piece = await openPiece(join(folder, wanted));
    if (piece === undefined) continue;
    if (pieces.some(({ id }) => id === piece.id)) await piece.handle.close();
    else pieces.unshift(piece);
  }
  return pieces;
}

async function openPiece(path: string): Promise<Piece | undefined> {
  try {
    // A pipe in place of a file must not stop the reader.
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const facts = await handle.stat();
    if (facts.isFile()) return { path, handle, id: `${facts.ino}.${Math.trunc(facts.birthtimeMs)}`, sizeBytes: facts.size };
    await handle.close();
  } catch {
    // Removed or renamed meanwhile, or a link.
  }
  return undefined;
}

async function partsOf(pieces: readonly Piece[], { taskId }: LogQuestion): Promise<Part[]> {
  if (taskId === undefined) return pieces.map(({ sizeBytes }, piece) => ({ piece, begin: 0, end: sizeBytes }));
  const parts: Part[] = [];
  for (const [piece, facts] of pieces.entries()) {
    const entries = await entriesOfPiece(facts);
    for (const [at, entry] of entries.entries()) {
      if (entry.taskId !== taskId) continue;
      const end = entries[at + 1]?.offset ?? facts.sizeBytes;
      const last = parts.at(-1);
      if (last?.piece === piece && last.end === entry.offset) parts[parts.length - 1] = { ...last, end };
      else parts.push({ piece, begin: entry.offset, end });
    }
  }
  return parts;
}

async function entriesOfPiece({ path, sizeBytes }: Piece): Promise<IndexEntry[]> {
  const index = await openPiece(indexOf(path));
  if (index === undefined) return [];
  try {
    const bytes = Buffer.alloc(Math.min(index.sizeBytes, INDEX_BYTES_MAX * 2));
    const { bytesRead } = await index.handle.read(bytes, 0, bytes.length, 0);
    return parseIndex(bytes.toString("utf8", 0, bytesRead), sizeBytes);
  } finally {
    await index.handle.close();
  }
}

interface Place {
  /** Number of a part. */
  readonly part: number;
  readonly offset: number;
}

async function readParts(pieces: readonly Piece[], parts: readonly Part[], question: LogQuestion): Promise<LogAnswer> {
  const known = question.from === undefined ? undefined : placeOf(pieces, parts, question.from);
  const first: Place = known ?? (await beginOf(pieces, parts, question));
  const isGap = question.from !== undefined && known === undefined;
  const chunks: Buffer[] = [];
  const marks: LogMark[] = [];
  let room = LOG_ANSWER_BYTES_MAX;
  let place = first;
  while (room > 0 && place.part < parts.length && marks.length < LOG_ANSWER_MARKS_MAX) {
    const { piece, end } = parts[place.part] as Part;
    const facts = pieces[piece] as Piece;
    const entries = question.withMarks === true ? await entriesOfPiece(facts) : [];
    let until = Math.min(end, place.offset + room);
    const held = marksBetween(entries, place.offset, until);
    const tooMany = held[LOG_ANSWER_MARKS_MAX - marks.length];
    if (tooMany !== undefined) until = tooMany.offset;
    const bytes = await readBytes(facts, place.offset, until);
    const at = LOG_ANSWER_BYTES_MAX - room - place.offset;
    for (const mark of held) if (mark.offset < until) marks.push({ ...mark, offset: Math.max(mark.offset, place.offset) + at });
    chunks.push(bytes);
    room -= bytes.length;
    const offset = place.offset + bytes.length;
    // A file that somebody has cut short ends here.
    place = offset < end && bytes.length === until - place.offset ? { ...place, offset } : { part: place.part + 1, offset: -1 };
    if (place.offset < 0) place = { part: place.part, offset: parts[place.part]?.begin ?? offset };
  }
  const isEnd = place.part >= parts.length;
  return { bytes: Buffer.concat(chunks), next: nextOf(pieces, parts, place), isEnd, isGap, marks };
}

/** The entry that holds at `begin`, and those up to `end`. */
function marksBetween(entries: readonly IndexEntry[], begin: number, end: number): IndexEntry[] {
  const before = entries.findLastIndex(({ offset }) => offset <= begin);
  return entries.slice(Math.max(0, before)).filter(({ offset }) => offset < end);
}

/** A place behind the last part is the end of the newest piece; later output belongs to the next answer. */
function nextOf(pieces: readonly Piece[], parts: readonly Part[], { part, offset }: Place): string {
  const found = parts[part];
  if (found !== undefined) return `${pieces[found.piece]?.id}:${offset}`;
  const newest = pieces.at(-1);
  return `${newest?.id}:${newest?.sizeBytes}`;
}

/** @returns undefined where the piece has been removed, or the text is none of a place */
function placeOf(pieces: readonly Piece[], parts: readonly Part[], from: string): Place | undefined {
  const [id, offsetText] = from.split(":");
  const offset = Number(offsetText);
  const piece = pieces.findIndex((candidate) => candidate.id === id);
  if (piece < 0 || !Number.isSafeInteger(offset) || offset < 0 || offset > (pieces[piece] as Piece).sizeBytes) return undefined;
  const part = parts.findIndex((candidate) => candidate.piece > piece || (candidate.piece === piece && candidate.end > offset));
  if (part < 0) return { part: parts.length, offset };
  const { piece: found, begin } = parts[part] as Part;
  return { part, offset: found === piece ? Math.max(begin, offset) : begin };
}

/** Counts lines backwards from the end. */
async function beginOf(pieces: readonly Piece[], parts: readonly Part[], { tail }: LogQuestion): Promise<Place> {
  if (tail === undefined) return { part: 0, offset: parts[0]?.begin ?? 0 };
  let missing = tail;
  let isLast = true;
  for (let part = parts.length - 1; part >= 0; part -= 1) {
    const { piece, begin, end } = parts[part] as Part;
    for (let until = end; until > begin; ) {
      const from = Math.max(begin, until - LOG_STEP_BYTES);
      const bytes = await readBytes(pieces[piece] as Piece, from, until);
      for (let at = bytes.length - 1; at >= 0; at -= 1) {
        // The line end at the very end begins no line.
        const ends = bytes[at] === 0x0a && !isLast;
        isLast = false;
        if (!ends) continue;
        missing -= 1;
        if (missing === 0) return { part, offset: from + at + 1 };
      }
      until = from;
    }
  }
  return tail === 0 ? { part: parts.length, offset: 0 } : { part: 0, offset: parts[0]?.begin ?? 0 };
}

async function readBytes({ handle }: Piece, begin: number, end: number): Promise<Buffer> {
  const bytes = Buffer.alloc(Math.max(0, end - begin));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, begin + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}
