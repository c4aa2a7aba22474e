/** Holds the table of mutants against the code: `npm run mutants` takes minutes and runs them, this test sees in a moment that each still is one. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIBRARY_MUTANTS, testOf } from "./mutants/library-mutants.ts";
import { REPOSITORY } from "./house/source-files.ts";

const rows = Object.entries(LIBRARY_MUTANTS);

test("each mutant replaces a text that its file has once, and names a file of tests", () => {
  const wrong = rows.flatMap(([name, { file, text, becomes }]) => {
    const count = readFileSync(join(REPOSITORY, "src", file), "utf8").split(text).length - 1;
    if (count !== 1) return [`${name}: src/${file} has its text ${count} times`];
    if (text === becomes) return [`${name} changes nothing`];
    return existsSync(join(REPOSITORY, testOf(name))) ? [] : [`${name}: there is no ${testOf(name)}`];
  });
  expect(wrong).toEqual([]);
});

test("each library has its part of at least 60 mutants", () => {
  const counts = Map.groupBy(rows, ([, { file }]) => file.split("/")[0]);
  expect(rows.length).toBeGreaterThanOrEqual(60);
  for (const library of ["data", "serve", "train", "tune"]) expect(counts.get(library)?.length).toBeGreaterThanOrEqual(10);
});
