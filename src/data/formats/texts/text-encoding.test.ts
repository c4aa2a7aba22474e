/** Texts of every encoding, cut at every byte, and the places of bytes that are no characters. */
import { expect, test } from "vitest";
import { ENCODINGS, isEncoding, utf8Text } from "./text-encoding.ts";

/** The text of bytes that come a few at a time. */
async function textOf(bytes: readonly number[], encoding: string, chunkBytes: number): Promise<string> {
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield Uint8Array.from(bytes.slice(at, at + chunkBytes));
  }
  const parts: Uint8Array[] = [];
  for await (const part of (await utf8Text(chunks(), "a.txt", encoding)).chunks) parts.push(part);
  return Buffer.concat(parts).toString();
}

const utf16 = (text: string): number[] => [...Buffer.from(text, "utf16le")];

test.each([
  ["windows-1252", [0x80, 0x41, 0xe9, 0x9f], "€AéŸ"],
  ["iso-8859-15", [0xa4], "€"],
  ["cp850", [0x8e, 0x20, 0xd5, 0x61, 0xff], "Ä ıa\u00a0"],
  ["IBM437", [0x84, 0x0a, 0xe1, 0x9e], "ä\nß₧"],
  ["cp852", [0x88, 0xa5], "łą"],
  ["koi8-r", [0xed, 0xc9, 0xd2], "Мир"],
  ["utf-16le", utf16("a\r\n€😀\uFEFFz"), "a\r\n€😀\uFEFFz"],
  ["utf-16be", [...Buffer.from(utf16("a€😀")).swap16()], "a€😀"],
  ["shift_jis", [0x93, 0xfa, 0x96, 0x7b, 0x2c, 0x83, 0x5c, 0x41], "日本,ソA"],
  ["gb18030", [0xc4, 0xe3, 0x0a, 0x95, 0x32, 0x82, 0x36, 0x31], "你\n𠀀1"],
  ["big5", [0xa4, 0x40, 0x20, 0xae, 0x7c], "一 徑"],
  ["euc-kr", [0xb0, 0xa1, 0xb0, 0xa2], "가각"],
  ["iso-2022-jp", [0x1b, 0x24, 0x42, 0x46, 0x7c, 0x4b, 0x5c, 0x1b, 0x28, 0x42, 0x0a, 0x41], "日本\nA"],
])("%s, wherever the chunks are cut", async (encoding, bytes, text) => {
  for (let size = 1; size <= bytes.length; size += 1) expect(await textOf(bytes, encoding, size)).toBe(text);
});

test.each([
  ["utf-16le", [...utf16("ab"), 0x00, 0xdc, ...utf16("c")], "byte 4 (0x00)"],
  ["utf-16le", [...utf16("ab"), 0x00, 0xd8, ...utf16("cd")], "byte 4 (0x00)"],
  ["utf-16le", [0xff, 0xfe, ...utf16("ab"), 0x41], "byte 6 (0x41)"],
  ["windows-1253", [0x41, 0x42, 0x43, 0xd2, 0x44], "byte 3 (0xd2)"],
  ["shift_jis", [0x93, 0xfa, 0x2c, 0x93, 0xfa, 0x81], "byte 5 (0x81)"],
  ["euc-kr", [0x20, 0xb0, 0xa1, 0xc9, 0x20, 0xb0, 0xa1], "byte 3 (0xc9)"],
])("bytes that are no %s are named by their place, wherever the chunks are cut", async (encoding, bytes, place) => {
  for (let size = 1; size <= bytes.length; size += 1)
    await expect(textOf(bytes, encoding, size)).rejects.toThrow(`a.txt: ${place} is no ${encoding}`);
});

test("the place of one byte in many is found", async () => {
  const bytes = utf16("line\n".repeat(50_000));
  bytes.splice(123_456, 2, 0x00, 0xdc);
  await expect(textOf(bytes, "utf-16le", 65_536)).rejects.toThrow("a.txt: byte 123456 (0x00) is no utf-16le");
});

test("every name is known to this version of Node, and others are refused", async () => {
  expect(ENCODINGS.filter((name) => !isEncoding(name))).toEqual([]);
  expect(["latin1", "UTF-16", "utf8", "sjis"].every(isEncoding)).toBe(true);
  expect(["klingon", "", "replacement", "ucs-4"].some(isEncoding)).toBe(false);
  await expect(textOf([], "klingon", 1)).rejects.toThrow('There is no encoding "klingon"');
  expect(await textOf([], "utf-16le", 1)).toBe("");
  expect(await textOf([0xff], "windows-1252", 1)).toBe("ÿ");
});
