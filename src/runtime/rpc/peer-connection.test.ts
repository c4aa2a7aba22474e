import { expect, test } from "vitest";
import { FRAME_FLAG } from "../wire/frame.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { ReplyTo } from "../wire/tables/replies.ts";
import { DecodeError } from "../wire/value/decode-error.ts";
import { wireErrorHeader, WireError } from "../wire/wire-error.ts";
import { openRequest } from "./peer-connection.ts";

const BODY = Buffer.from("body");

async function answered<N extends number>(type: N, header: unknown, flags = 0): Promise<ReplyTo<N>> {
  const reply = await new Promise<{ header: ReplyTo<N>; body: Uint8Array }>((resolve, reject) => {
    openRequest(type, resolve, reject).answer({ flags, body: BODY }, header);
  });
  expect(reply.body).toEqual(BODY);
  return reply.header;
}

test("a request gets the header of its answer, and headers of requests that no table knows as they are", async () => {
  const keys: string[] = await answered(MESSAGE.KV_LIST, ["a", "b"]);
  expect(keys).toEqual(["a", "b"]);
  expect(await answered(MESSAGE.KV_GET, undefined)).toBeUndefined();
  expect(await answered(201, "re")).toBe("re");
});

test("a request with a malformed answer rejects and names the message and the field", async () => {
  const total = { CPU: 1 };
  const malformed = answered(MESSAGE.RESOURCES, { total, available: { CPU: "all" }, store: {} });
  await expect(malformed).rejects.toBeInstanceOf(DecodeError);
  await expect(malformed).rejects.toThrow(
    'the answer to message RESOURCES (71) is malformed: its header.available.CPU is not a finite number: received "all"',
  );
  await expect(answered(MESSAGE.NODES, undefined)).rejects.toThrow(
    "the answer to message NODES (70) is malformed: its header is not a list",
  );
  const why = { what: "call", state: "unknown", reason: "", details: {}, causes: [] };
  await expect(answered(MESSAGE.WHY_REF, { ...why, causes: [why, { ...why, causes: [1] }] })).rejects.toThrow("its header.causes[1]");
});

test("a request that is answered with an error rejects with its code", async () => {
  const refused = answered(MESSAGE.KV_LIST, wireErrorHeader(new WireError("notFound", "it is not there")), FRAME_FLAG.ERROR);
  await expect(refused).rejects.toMatchObject({ code: "notFound", message: "it is not there" });
});
