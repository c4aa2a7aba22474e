import { expect, test } from "vitest";
import { BODY_PIECE_BYTES, GATHERED_PIECES_BYTES, STREAM_CREDIT_BYTES, STREAM_WINDOW_BYTES } from "../limits.ts";
import { BodyReceiver } from "./body-receiver.ts";
import { BodySender } from "./body-sender.ts";
import { decodeRequestHead, decodeResponseHead, encodeRequestHead, encodeResponseHead } from "./frames.ts";

test("heads come back as they were, repeated headers and odd texts too", () => {
  const request = {
    method: "POST",
    url: "http://h/ä?x=\u2028",
    requestId: "1",
    timeoutMs: 5,
    modelId: "",
    client: "::1",
    headers: ["a", "1", "a", "2", "set-cookie", 'x="\\'],
  };
  expect(decodeRequestHead(encodeRequestHead(request))).toEqual(request);
  const response = { status: 201, statusText: "Made", ongoing: 3, headers: ["a", "b"] };
  expect(decodeResponseHead(encodeResponseHead(response))).toEqual(response);
});

test("a sender goes as far as its credit, and on when there is more", async () => {
  const sent: number[] = [];
  const sender = new BodySender((bytes) => sent.push(bytes.byteLength), STREAM_WINDOW_BYTES);
  const size = STREAM_WINDOW_BYTES + 2 * BODY_PIECE_BYTES;
  const written = sender.write(new Uint8Array(size));
  await Promise.resolve();
  expect(sent.reduce((sum, piece) => sum + piece, 0)).toBe(STREAM_WINDOW_BYTES);
  expect(Math.max(...sent)).toBe(BODY_PIECE_BYTES);
  sender.credited(2 * BODY_PIECE_BYTES);
  expect(await written).toBe(true);
  expect(sent.reduce((sum, piece) => sum + piece, 0)).toBe(size);
});

test("a sender that gathers sends small pieces of a turn as one, in order with large ones, and keeps no view of them", () => {
  const sent: string[] = [];
  let asked = 0;
  const sender = new BodySender(
    (bytes) => sent.push(Buffer.from(bytes).toString()),
    STREAM_WINDOW_BYTES,
    () => (asked += 1),
  );
  const piece = Buffer.from("a");
  void sender.write(piece);
  piece[0] = 98;
  void sender.write(piece);
  expect([sent, asked]).toEqual([[], 1]);
  sender.flush();
  sender.flush();
  expect(sent.splice(0)).toEqual(["ab"]);
  const large = "l".repeat(GATHERED_PIECES_BYTES + 1);
  void sender.write(piece);
  void sender.write(Buffer.from(large));
  expect(sent.splice(0)).toEqual(["b", large]);
  for (let index = 0; index < 600; index += 1) void sender.write(Buffer.from("x".repeat(100)));
  sender.flush();
  expect(Math.max(...sent.map(({ length }) => length))).toBeLessThanOrEqual(GATHERED_PIECES_BYTES);
  expect(sent.splice(0).join("")).toBe("x".repeat(60_000));
  void sender.write(piece);
  sender.stop();
  sender.flush();
  expect(sent).toEqual([]);
});

test("a sender that is stopped says so, waiting or not", async () => {
  const sender = new BodySender(() => {}, 0);
  const ready = sender.ready();
  const written = sender.write(new Uint8Array(1));
  sender.stop();
  expect([await ready, await written, sender.write(new Uint8Array(1))]).toEqual([false, false, false]);
});

test("a receiver gives credit for what was taken, in portions, and none after the end", async () => {
  const credits: number[] = [];
  const receiver = new BodyReceiver((bytes) => credits.push(bytes));
  const piece = STREAM_CREDIT_BYTES / 2;
  for (let index = 0; index < 4; index += 1) receiver.arrived(new Uint8Array(piece));
  expect(credits).toEqual([]);
  for (let index = 0; index < 3; index += 1) await receiver.next();
  expect(credits).toEqual([STREAM_CREDIT_BYTES]);
  receiver.ended(["x", "1"]);
  await receiver.next();
  expect([await receiver.next(), receiver.trailers, credits.length]).toEqual([undefined, ["x", "1"], 1]);
});

test("a receiver that waits hears of pieces, of the end and of a failure", async () => {
  const receiver = new BodyReceiver(() => {});
  const first = receiver.next();
  receiver.arrived(new Uint8Array([7]));
  expect(await first).toEqual(new Uint8Array([7]));
  const second = receiver.next();
  receiver.failed(new Error("gone"));
  await expect(second).rejects.toThrow("gone");
});
