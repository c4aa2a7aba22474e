/** Encrypted Parquet, which `test/vectors/data/encrypted.py` writes, is an error that says so. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readParquetFooter } from "./parquet-reader.ts";

test.each([
  ["encrypted-footer", "its footer"],
  ["encrypted-column", 'its column "secret"'],
])("%s", async (name, what) => {
  const path = fileURLToPath(new URL(`../../../test/vectors/data/${name}.parquet`, import.meta.url));
  await expect(readParquetFooter(path, [])).rejects.toMatchObject({
    message: `Cannot read ${path}: ${what} is encrypted, and readers here take no keys`,
    hint: "write the rows without encryption, by a program that has the keys",
  });
});
