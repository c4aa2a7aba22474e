/** Source positions survive being cut, edited and put together. */
import { decode, encode } from "@jridgewell/sourcemap-codec";
import { expect, test } from "vitest";
import { cutSourceMap, expandPositions, lineStartsOf, placeAt, sourceMapComment } from "./positions.ts";

test("lines of a text, with every kind of line end", () => {
  expect(lineStartsOf("a\nb\r\nc\rd\u2028e")).toEqual([0, 2, 5, 7, 9]);
  expect([0, 1, 2, 4, 5, 100].map((offset) => placeAt([0, 2, 5], offset))).toEqual([
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 2],
    [2, 0],
    [2, 95],
  ]);
});

test("a text laid out as its file maps each word to itself", () => {
  const segments = expandPositions("call(first,\n  new Thing())", { sources: ["/file.ts"], start: [9, 4] });
  const at = (offset: number): unknown => segments.find((segment) => segment.offset === offset);
  expect(at(5)).toEqual({ offset: 5, source: "/file.ts", line: 9, column: 9 });
  expect(at(14)).toEqual({ offset: 14, source: "/file.ts", line: 10, column: 2 });
});

test("a source map is cut to a text, and the whole text gets one again", () => {
  const script = "const a = 1;\nconst f = () => { throw 1 };\n";
  const map = {
    sources: ["/one.ts", "/two.ts"],
    lines: decode(
      encode([
        [[0, 0, 0, 0]],
        [
          [0, 1, 20, 0],
          [10, 1, 20, 10],
          [18, 1, 21, 2],
        ],
      ]),
    ),
  };
  const offset = script.indexOf("() =>");
  const positions = cutSourceMap(map, lineStartsOf(script), { offset, length: "() => { throw 1 }".length });
  expect(positions?.sources).toEqual(["/two.ts"]);
  const segments = expandPositions("() => { throw 1 }", positions ?? { sources: [] });
  expect(segments).toEqual([
    { offset: 0, source: "/two.ts", line: 20, column: 10 },
    { offset: 8, source: "/two.ts", line: 21, column: 2 },
  ]);
  const comment = sourceMapComment("() => { throw 1 }", segments);
  const decoded = JSON.parse(Buffer.from(comment.split("base64,")[1] ?? "", "base64").toString()) as { mappings: string };
  expect(decode(decoded.mappings)).toEqual([
    [
      [0, 0, 20, 10],
      [8, 0, 21, 2],
    ],
  ]);
});
