/**
 * Holds that no header is cast: a header from another process is read by its shape, from a table of messages
 * (docs/decisions/0051-tables-of-messages.md).
 *
 * Found by form, in all of `src`: the records that a head reads back from its store are read so, too.
 */
import { expect, test } from "vitest";
import { readSources } from "./house/source-files.ts";

const CAST = /\bheader\)? as (?!const\b)|\bdecodeHeader\((?:[^()]|\([^()]*\))*\) as /;

function casts(text: string): number {
  return text.split("\n").filter((line) => CAST.test(line.replace(/\/\/.*$/, "")) && !/^\s*(?:\/\*\*|\*)/.test(line)).length;
}

test("headers are read by their shapes, and not cast", () => {
  const found = readSources().flatMap(({ path, text }) => (casts(text) === 0 ? [] : [[path, casts(text)] as const]));
  expect(found).toEqual([]);
});

test.each([
  ["const { id } = header as CancelRefHeader;", 1],
  ["return (reply.header as NodeHeader[]).map(f);", 1],
  ["const header = decodeHeader(body.subarray(4, 8)) as PayloadHeader;", 1],
  ["const header = decodeHeader(frame.header);", 0],
  ["// as the header as sent", 0],
  ["  /** A header as it came. */", 0],
])("the rule finds in %s so many casts: %d", (line, count) => {
  expect(casts(line)).toBe(count);
});
