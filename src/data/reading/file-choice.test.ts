/** Files of a folder, chosen by their extensions and partitions, and random orders of them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { checkChoice, chosenFiles, type FileChoice } from "./file-choice.ts";
import { shuffled } from "../plan/logical-plan.ts";

const folder = mkdtempSync(join(tmpdir(), "shoal file choice "));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
for (const path of [
  "year=2025/a.csv",
  "year=2026/a.CSV",
  "year=2026/b.csv.gz",
  "year=2026/notes.txt",
  "year=__HIVE_DEFAULT_PARTITION__/c.csv",
]) {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), "a\n1\n");
}

const choice = (given: Partial<FileChoice> = {}): FileChoice => ({
  partitioning: "hive",
  partitionFilter: undefined,
  fileExtensions: undefined,
  ignoreMissingPaths: false,
  shuffle: undefined,
  ...given,
});
const chosen = async (given: Partial<FileChoice>): Promise<string[]> =>
  (await chosenFiles("readCsv", folder, choice(given))).listed.map(({ path }) => relative(folder, path));

describe("files are chosen", () => {
  test("by their extensions, with or without a point, whatever their case", async () => {
    expect(await chosen({})).toHaveLength(5);
    expect(await chosen({ fileExtensions: ["txt"] })).toEqual(["year=2026/notes.txt"]);
    expect(await chosen({ fileExtensions: [".csv"] })).toEqual([
      "year=2025/a.csv",
      "year=2026/a.CSV",
      "year=__HIVE_DEFAULT_PARTITION__/c.csv",
    ]);
    expect(await chosen({ fileExtensions: ["csv.gz", "TXT"] })).toEqual(["year=2026/b.csv.gz", "year=2026/notes.txt"]);
    await expect(chosen({ fileExtensions: ["parquet", "v"] })).rejects.toThrow("readCsv: none of 5 files ends in .parquet or .v");
  });

  test("by what their folders say", async () => {
    expect(await chosen({ partitionFilter: ({ year }) => year === 2025 })).toEqual(["year=2025/a.csv"]);
    expect(await chosen({ partitionFilter: ({ year }) => year === null })).toEqual(["year=__HIVE_DEFAULT_PARTITION__/c.csv"]);
    expect(await chosen({ partitionFilter: () => false })).toEqual([]);
    await expect(chosen({ partitionFilter: async () => true } as never)).rejects.toThrow("partitionFilter gave an instance of Promise");
    await expect(chosen({ partitionFilter: () => Promise.reject(new Error("later")) } as never)).rejects.toThrow(
      "gave an instance of Promise",
    );
    expect(() => checkChoice("readCsv", choice({ partitioning: "none", partitionFilter: () => true }))).toThrow(
      'Cannot call readCsv: it takes no partitionFilter with partitioning: "none"',
    );
  });
});

test("files that are not read say nothing of the types of partitions", async () => {
  const other = mkdtempSync(join(tmpdir(), "shoal file choice "));
  try {
    for (const path of ["year=2026/a.csv", "year=unknown/readme.txt"]) {
      mkdirSync(join(other, path, ".."), { recursive: true });
      writeFileSync(join(other, path), "a\n1\n");
    }
    const given = choice({ fileExtensions: ["csv"], partitionFilter: ({ year }) => year === 2026 });
    const { listed, partitionOf } = await chosenFiles("readCsv", other, given);
    expect(listed.map(({ path }) => partitionOf(path))).toEqual([[["year", 2026]]]);
  } finally {
    rmSync(other, { recursive: true, force: true });
  }
});

test("a random order has each item once, and is that of its seed", () => {
  const items = Array.from({ length: 50 }, (_, i) => i);
  expect(shuffled(items, undefined)).toBe(items);
  const mixed = shuffled(items, { seed: 3 });
  expect(mixed).not.toEqual(items);
  expect(mixed.toSorted((a, b) => a - b)).toEqual(items);
  expect(shuffled(items, { seed: 3 })).toEqual(mixed);
  expect(shuffled(items, { seed: 4 })).not.toEqual(mixed);
  expect(shuffled(items, "files")).not.toEqual(shuffled(items, "files"));
});
