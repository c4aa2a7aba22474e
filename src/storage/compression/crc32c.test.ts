import { expect, test } from "vitest";
import { crc32c } from "./crc32c.ts";

test("checksums are those of RFC 3720", () => {
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e);
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
});

test("a part of the bytes has the checksum of its copy, whatever its length", () => {
  const bytes = Uint8Array.from({ length: 40 }, (_, i) => (i * 37) % 251);
  for (let start = 0; start < 9; start += 1)
    for (let end = start; end <= bytes.length; end += 1) expect(crc32c(bytes, start, end)).toBe(crc32c(bytes.slice(start, end)));
});
