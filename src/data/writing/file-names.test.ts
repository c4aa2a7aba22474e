/** Names of written files: the usual ones, those of a function, and which of the latter are refused. */
import { describe, expect, test } from "vitest";
import { FileNames, type NamedFile } from "./file-names.ts";

const file = (index: number, given: Partial<NamedFile> = {}): NamedFile => ({
  index,
  writeId: "id",
  extension: ".csv.gz",
  partition: "",
  rowCount: 3,
  ...given,
});

describe("names of files", () => {
  test("are numbered without a function", () => {
    const names = new FileNames(undefined, []);
    expect(names.placeOf("/out", file(7))).toBe("/out/part-00007-id.csv.gz");
    expect(names.placeOf("/out", file(8, { partition: "city=Rome" }))).toBe("/out/city=Rome/part-00008-id.csv.gz");
  });

  test("are the function's, with the extension behind those that have it not", () => {
    const names = new FileNames(({ index, rowCount }) => (index === 0 ? "first.csv.gz" : `rides ${index} of ${rowCount}`), []);
    expect([0, 1].map((index) => names.placeOf("/out", file(index)))).toEqual(["/out/first.csv.gz", "/out/rides 1 of 3.csv.gz"]);
    expect(names.has("/out/first.csv.gz")).toBe(true);
    expect(names.has("/out/other")).toBe(false);
  });

  test("may be the same in two folders, and not in one, nor that of an old file", () => {
    const names = new FileNames(() => "same", ["/out/a=2/same.csv.gz"]);
    names.placeOf("/out", file(0));
    names.placeOf("/out", file(1, { partition: "a=1" }));
    expect(() => names.placeOf("/out", file(2))).toThrow('filenameProvider gave "same.csv.gz" twice in /out');
    expect(() => names.placeOf("/out", file(3, { partition: "a=2" }))).toThrow("Cannot write /out/a=2/same.csv.gz: it is there already");
  });

  test("that leave the folder, are hidden, or are none, are refused", () => {
    for (const wrong of ["../x", "a/b", "a\\b", ".x", "_x", "", "a\nb", "..", "x".repeat(300), 3, undefined, Promise.resolve("x")]) {
      const names = new FileNames(() => wrong as string, []);
      expect(() => names.placeOf("/out", file(0))).toThrow("filenameProvider gave");
    }
  });
});
