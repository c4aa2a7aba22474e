"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.lineStartsOf = lineStartsOf;
exports.lineAt = lineAt;
exports.cutSourceMap = cutSourceMap;
exports.expandPositions = expandPositions;
exports.sourceMapComment = sourceMapComment;
/**
 * Where each piece of a shipped text came from: the user's own file, line and column.
 *
 * Decides the compact form in which a text carries its origin (a start position when the compiled text is laid out like the file, as
 * with type stripping; else the loader's source map cut to the text) and how a whole evaluated text gets one source map, so that a stack
 * trace on a worker names the `.ts` line. Called by `script-table` (capture) and `assemble` (revival).
 */
const sourcemap_codec_1 = require("@jridgewell/sourcemap-codec");
const LINE_END = /\r\n|[\n\r\u2028\u2029]/g;
/** Offsets at which the lines of a text start. */
function lineStartsOf(text) {
  const starts = [0];
  for (const match of text.matchAll(LINE_END)) starts.push(match.index + match[0].length);
  return starts;
}
/** The line that holds an offset. */
function lineAt(starts, offset) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
/** Cuts a script's source map to the `length` characters at `offset`. `null` when the map says nothing of them. */
function cutSourceMap(map, starts, { offset, length }) {
  const firstLine = lineAt(starts, offset);
  const lastLine = lineAt(starts, offset + length);
  const used = new Map();
  const lines = [];
  for (let line = firstLine; line <= lastLine; line++) {
    const lineStart = starts[line];
    const from = line === firstLine ? offset - lineStart : 0;
    const to = offset + length - lineStart;
    lines.push(cutLine(map.lines[line] ?? [], { from, to, used }));
  }
  const sources = [...used.keys()].map((index) => map.sources[index] ?? "");
  return used.size > 0 ? { sources, mappings: (0, sourcemap_codec_1.encode)(lines) } : null;
}
function cutLine(segments, { from, to, used }) {
  const cut = [];
  for (const segment of segments) {
    if (segment.length === 1) continue;
    const [column, source, line, sourceColumn] = segment;
    if (column > to) break;
    // The last segment at or before the start covers the first characters.
    if (column <= from) cut.length = 0;
    if (!used.has(source)) used.set(source, used.size);
    cut.push([Math.max(column - from, 0), used.get(source), line, sourceColumn]);
  }
  return cut;
}
/** Every mapped place of a text. Where it is laid out as its source, that is each word: V8 reports calls at words. */
function expandPositions(text, positions) {
  const segments = [];
  const starts = lineStartsOf(text);
  if (positions.start) {
    const [firstLine, firstColumn] = positions.start;
    const source = positions.sources[0] ?? "";
    for (const match of text.matchAll(/[\p{ID_Start}$_#][\p{ID_Continue}$]*|^/gmu)) {
      const line = lineAt(starts, match.index);
      const column = match.index - starts[line] + (line === 0 ? firstColumn : 0);
      segments.push({ offset: match.index, source, line: firstLine + line, column });
    }
    return segments;
  }
  for (const [index, row] of (0, sourcemap_codec_1.decode)(positions.mappings ?? "").entries()) {
    for (const segment of row) {
      if (segment.length === 1) continue;
      const offset = (starts[index] ?? text.length) + segment[0];
      segments.push({ offset, source: positions.sources[segment[1]] ?? "", line: segment[2], column: segment[3] });
    }
  }
  return segments;
}
/** The source map of a whole text as a comment that the engine's stack traces follow. */
function sourceMapComment(text, segments) {
  const starts = lineStartsOf(text);
  const sources = new Map();
  const lines = starts.map(() => []);
  for (const { offset, source, line, column } of segments) {
    if (!sources.has(source)) sources.set(source, sources.size);
    const generatedLine = lineAt(starts, offset);
    const generatedColumn = offset - starts[generatedLine];
    lines[generatedLine]?.push([generatedColumn, sources.get(source), line, column]);
  }
  const map = { version: 3, names: [], sources: [...sources.keys()], mappings: (0, sourcemap_codec_1.encode)(lines) };
  return `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}`;
}
//# sourceMappingURL=positions.js.map
