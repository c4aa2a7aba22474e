/**
 * Maps each piece of a sent text to the user's own file, line and column.
 *
 * A text carries its origin in a compact form. If the compiled text is laid out like the file, as with type stripping, a start position is
 * enough; otherwise the loader's source map is cut to the text. A whole evaluated text gets one source map, so that a stack trace on a
 * worker names the `.ts` line. Called by `script-table` (capture) and `assemble` (revival).
 */
import type { SourceMapLine, SourceMapMappings } from "@jridgewell/sourcemap-codec";
import { sourceMapPackage } from "../parsing/parsing-packages.ts";

const LINE_END = /\r\n|[\n\r\u2028\u2029]/g;

/** The origin of one text. Lines and columns count from 0. */
export interface TextPositions {
  readonly sources: readonly string[];
  /** Position of the first character, if the text is laid out like its only source. */
  readonly start?: readonly [line: number, column: number];
  /** Else a source map of the text alone. */
  readonly mappings?: string;
}

/** The place of a text's first character that is mapped; the line counts from 0. */
export function startOf({ sources, start, mappings }: TextPositions): { source: string; line: number } | undefined {
  if (start !== undefined) return { source: sources[0] ?? "", line: start[0] };
  for (const segment of mappings === undefined ? [] : sourceMapPackage().decode(mappings).flat())
    if (segment.length > 1) return { source: sources[segment[1] as number] ?? "", line: segment[2] as number };
  return undefined;
}

/** A mapped place of a text. */
export interface Segment {
  readonly offset: number;
  readonly source: string;
  readonly line: number;
  readonly column: number;
}

/** A decoded source map with absolute source paths. */
export interface SourceMap {
  readonly lines: SourceMapMappings;
  readonly sources: readonly (string | null)[];
}

/** Offsets at which the lines of a text start. */
export function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (const match of text.matchAll(LINE_END)) starts.push(match.index + match[0].length);
  return starts;
}

/** The line that holds an offset. */
function lineAt(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] as number) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The line and the column of an offset. */
export function placeAt(starts: readonly number[], offset: number): [line: number, column: number] {
  const line = lineAt(starts, offset);
  return [line, offset - (starts[line] as number)];
}

/** Cuts a script's source map to the `length` characters at `offset`. `null` if the map has nothing about them. */
export function cutSourceMap(
  map: SourceMap,
  starts: readonly number[],
  { offset, length }: { offset: number; length: number },
): TextPositions | null {
  const firstLine = lineAt(starts, offset);
  const lastLine = lineAt(starts, offset + length);
  const used = new Map<number, number>();
  const lines: SourceMapMappings = [];
  for (let line = firstLine; line <= lastLine; line++) {
    const lineStart = starts[line] as number;
    const from = line === firstLine ? offset - lineStart : 0;
    const to = offset + length - lineStart;
    lines.push(cutLine(map.lines[line] ?? [], { from, to, used }));
  }
  const sources = [...used.keys()].map((index) => map.sources[index] ?? "");
  return used.size > 0 ? { sources, mappings: sourceMapPackage().encode(lines) } : null;
}

function cutLine(segments: SourceMapLine, { from, to, used }: { from: number; to: number; used: Map<number, number> }): SourceMapLine {
  const cut: SourceMapLine = [];
  for (const segment of segments) {
    if (segment.length === 1) continue;
    const [column, source, line, sourceColumn] = segment;
    if (column > to) break;
    // The last segment at or before the start covers the first characters.
    if (column <= from) cut.length = 0;
    if (!used.has(source)) used.set(source, used.size);
    cut.push([Math.max(column - from, 0), used.get(source) as number, line, sourceColumn]);
  }
  return cut;
}

/** Every mapped place of a text. Where it is laid out as its source, that is each word: V8 reports calls at words. */
export function expandPositions(text: string, positions: TextPositions): Segment[] {
  const segments: Segment[] = [];
  const starts = lineStartsOf(text);
  if (positions.start) {
    const [firstLine, firstColumn] = positions.start;
    const source = positions.sources[0] ?? "";
    for (const match of text.matchAll(/[\p{ID_Start}$_#][\p{ID_Continue}$]*|^/gmu)) {
      const [line, column] = placeAt(starts, match.index);
      segments.push({ offset: match.index, source, line: firstLine + line, column: line === 0 ? firstColumn + column : column });
    }
    return segments;
  }
  for (const [index, row] of sourceMapPackage()
    .decode(positions.mappings ?? "")
    .entries()) {
    for (const segment of row) {
      if (segment.length === 1) continue;
      const offset = (starts[index] ?? text.length) + segment[0];
      segments.push({ offset, source: positions.sources[segment[1]] ?? "", line: segment[2], column: segment[3] });
    }
  }
  return segments;
}

/** The source map of a whole text as a comment that the engine's stack traces follow. */
export function sourceMapComment(text: string, segments: readonly Segment[]): string {
  const starts = lineStartsOf(text);
  const sources = new Map<string, number>();
  const lines: SourceMapMappings = starts.map(() => []);
  for (const { offset, source, line, column } of segments) {
    if (!sources.has(source)) sources.set(source, sources.size);
    const [generatedLine, generatedColumn] = placeAt(starts, offset);
    lines[generatedLine]?.push([generatedColumn, sources.get(source) as number, line, column]);
  }
  const map = { version: 3, names: [], sources: [...sources.keys()], mappings: sourceMapPackage().encode(lines) };
  return `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}`;
}
