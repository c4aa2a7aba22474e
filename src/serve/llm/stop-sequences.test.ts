/** Stop sequences that come whole, in pieces, and not at all. */
import { expect, test } from "vitest";
import { StopSequences } from "./stop-sequences.ts";

test.each([
  { stops: ["END"], pieces: ["one E", "ND two"], shown: "one ", isEnd: true },
  { stops: ["END"], pieces: ["one E", "NTER"], shown: "one ENTER", isEnd: false },
  { stops: ["b", "ab"], pieces: ["xa", "b"], shown: "x", isEnd: true },
  { stops: [], pieces: ["one", " two"], shown: "one two", isEnd: false },
  { stops: ["\n\n"], pieces: ["a\n", "b\n"], shown: "a\nb\n", isEnd: false },
])("$pieces with $stops", ({ stops, pieces, shown, isEnd }) => {
  const sequences = new StopSequences(stops);
  let text = "";
  let ended = false;
  for (const piece of pieces) {
    const next = sequences.next(piece);
    text += next.text;
    ended ||= next.isEnd;
  }
  expect([text + sequences.rest(), ended]).toEqual([shown, isEnd]);
});
