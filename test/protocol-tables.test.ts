/** Holds the tables of PROTOCOL.md to the definitions of messages in `src/runtime/wire`; `-u` writes them anew. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { messagesWithoutRow, protocolPage } from "./house/protocol-tables.ts";
import { REPOSITORY } from "./house/source-files.ts";

const PAGE = join(REPOSITORY, "PROTOCOL.md");
const read = (file: string): Promise<string> => readFile(join(REPOSITORY, "src", "runtime", "wire", file), "utf8");

test("PROTOCOL.md's tables say what the definitions of messages say", async () => {
  await expect(await protocolPage(await readFile(PAGE, "utf8"), read)).toMatchFileSnapshot(PAGE);
});

test("every message of the catalogue has a row in PROTOCOL.md", async () => {
  expect(messagesWithoutRow(await readFile(PAGE, "utf8"))).toEqual([]);
});

test("a message without a comment, or a line that cannot be read, fails", async () => {
  const page = await readFile(PAGE, "utf8");
  const changed = (from: RegExp, to: string) => async (file: string) => (await read(file)).replace(from, to);
  await expect(protocolPage(page, changed(/ {2}\/\*\* The actor ends by itself; .*\n/, ""))).rejects.toThrow("WORKER_EXIT has no comment");
  await expect(protocolPage(page, changed(/ {2}\[MESSAGE\.WARNING\]: text,/, "  74: text,"))).rejects.toThrow("no comments for 74");
  await expect(protocolPage(page, changed(/^ {2}\/\*\* A warning.*\n.*WARNING.*\n/m, ""))).rejects.toThrow("no comments for 74");
});
