/** Events whose bytes are cut anywhere, with every kind of line end. */
import { expect, test } from "vitest";
import { serverSentEvents } from "./server-sent-events.ts";

const TEXT = ': comment\r\ndata: {"a":"ä"}\r\n\r\nevent: x\ndata: one\ndata:two\n\n\ndata: [DONE]';

test.each([1, 2, 3, 7, 1000])("pieces of %i bytes", async (size) => {
  const bytes = new TextEncoder().encode(TEXT);
  async function* pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const found: string[] = [];
  for await (const data of serverSentEvents(pieces())) found.push(data);
  expect(found).toEqual(['{"a":"ä"}', "one\ntwo", "[DONE]"]);
});
