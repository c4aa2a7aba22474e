/** Tests how the limit of open files is read, and the error when it is reached. */
import { expect, test } from "vitest";
import { describeSystemFailure, openFilesMax, readOpenFilesMax, workersWithin } from "./open-files.ts";

test("reads the limit to which Node raises its own", () => {
  expect(
    readOpenFilesMax("Limit  Soft Limit  Hard Limit  Units\nMax open files            256                  4096                 files \n"),
  ).toBe(4096);
  expect(readOpenFilesMax("Max open files            256                  unlimited            files \n")).toBeUndefined();
  expect(readOpenFilesMax("")).toBeUndefined();
});

test("a node with few files has room for few workers", () => {
  expect([workersWithin(256), workersWithin(10)]).toEqual([43, 0]);
});

test.skipIf(openFilesMax() === undefined)("names the limit where it was reached, and nowhere else", () => {
  const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`spawn ${code}`), { code });
  expect(describeSystemFailure(failure("EMFILE"))).toContain(`spawn EMFILE: the node has as many files open as it may, ${openFilesMax()}`);
  expect(describeSystemFailure(failure("ENOENT"))).toBe("spawn ENOENT");
});
