/** Encrypted Parquet, written by `test/vectors/data/encrypted.py`: an encrypted column is a clear error, and the columns beside it are read. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { rowsOf } from "../blocks/block.ts";
import { readParquetFooter, readParquetPart } from "./parquet/parquet-reader.ts";

const vector = (name: string): string => fileURLToPath(new URL(`../../../test/vectors/data/${name}.parquet`, import.meta.url));
const refusal = (path: string, what: string): object => ({
  message: `Cannot read ${path}: ${what} is encrypted, and readers here take no keys`,
  hint: "write the rows without encryption, by a program that has the keys",
});

test("an encrypted footer", async () => {
  const path = vector("encrypted-footer");
  await expect(readParquetFooter(path, [])).rejects.toMatchObject(refusal(path, "its footer"));
});

test("an encrypted column, where it is read", async () => {
  const path = vector("encrypted-column");
  const { columns, encryptedColumns } = await readParquetFooter(path, []);
  expect([columns, encryptedColumns]).toEqual([["id", "secret"], ["secret"]]);
  const part = { path, rowGroups: [0], firstRows: [0], rowCount: 2, encryptedColumns };
  const read = async (names: readonly string[] | undefined): Promise<unknown[]> => {
    const rows: unknown[] = [];
    for await (const block of readParquetPart(part, names, [])) rows.push(...rowsOf(block));
    return rows;
  };
  expect(await read(["id"])).toEqual([{ id: 1 }, { id: 2 }]);
  for (const names of [undefined, ["secret"], ["id", "secret"]])
    await expect(read(names)).rejects.toMatchObject(refusal(path, 'its column "secret"'));
});
