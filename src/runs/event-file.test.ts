import { expect, test } from "vitest";
import { crc32c, eventRecord } from "./event-file.ts";
import { intField } from "./protocol-buffers.ts";

test("checksums are those of RFC 3720", () => {
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e);
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
});

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
