import { expect, test } from "vitest";
import { eventRecord } from "./event-file.ts";
import { intField } from "./protocol-buffers.ts";

test("a record is a length, its checksum, the bytes and their checksum", () => {
  const record = eventRecord(Buffer.from("abc"));
  expect(record).toHaveLength(8 + 4 + 3 + 4);
  expect(record.readBigUInt64LE(0)).toBe(3n);
  expect(record.subarray(12, 15).toString()).toBe("abc");
});

test("whole numbers take seven bits a byte, large ones too", () => {
  expect([...intField(2, 300)]).toEqual([16, 0xac, 0x02]);
  expect([...intField(1, 2 ** 40)]).toEqual([8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20]);
});
