/** Tests the manifest's format, the package's name, and the refusal of hostile manifests. */
import { describe, expect, test } from "vitest";
import {
  BadPackageError,
  encodeManifest,
  filesWithOffsets,
  linkTarget,
  packageHash,
  parseManifest,
  type PackageEntry,
} from "./directory-package.ts";

const SHA = "a".repeat(64);
const file = (path: string, sizeBytes = 3): PackageEntry => ({ kind: "file", path, isExecutable: false, sizeBytes, sha256: SHA });
const text = (rows: unknown): Uint8Array => Buffer.from(JSON.stringify([1, rows]));

test("the same entries make the same package, in whatever order they were found", () => {
  const entries: PackageEntry[] = [file("b"), { kind: "folder", path: "a" }, file("a/x"), { kind: "link", path: "l", target: "a/x" }];
  const hash = packageHash(encodeManifest(entries));
  expect(packageHash(encodeManifest(entries.toReversed()))).toBe(hash);
  expect(packageHash(encodeManifest([...entries.slice(1), { ...file("b"), isExecutable: true } as PackageEntry]))).not.toBe(hash);
  expect(parseManifest(encodeManifest(entries))).toEqual({
    entries: [{ kind: "folder", path: "a" }, file("a/x"), file("b"), { kind: "link", path: "l", target: "a/x" }],
    contentsBytes: 6,
  });
});

test("contents lie in the order of the paths", () => {
  const manifest = parseManifest(encodeManifest([file("b", 5), file("a", 7), file("c", 1)]));
  expect(Array.from(filesWithOffsets(manifest), ({ path, offset }) => [path, offset])).toEqual([
    ["a", 0],
    ["b", 7],
    ["c", 12],
  ]);
});

describe("a manifest is refused that has", () => {
  test.each([
    ["a way up", [["f", "../x", 1, SHA]]],
    [
      "a way up in the middle",
      [
        ["d", "a"],
        ["f", "a/../../x", 1, SHA],
      ],
    ],
    ["an absolute path", [["f", "/etc/passwd", 1, SHA]]],
    ["an empty name", [["f", "", 1, SHA]]],
    ["a path that is not in its shortest form", [["f", "a//b", 1, SHA]]],
    ["a NUL in a path", [["f", "a\0b", 1, SHA]]],
    ["a backslash in a path", [["f", "a\\b", 1, SHA]]],
    [
      "one path twice",
      [
        ["f", "a", 1, SHA],
        ["f", "a", 1, SHA],
      ],
    ],
    [
      "paths out of order",
      [
        ["f", "b", 1, SHA],
        ["f", "a", 1, SHA],
      ],
    ],
    ["a file in a folder that it does not name", [["f", "a/b", 1, SHA]]],
    [
      "a file below a link",
      [
        ["l", "a", "."],
        ["f", "a/b", 1, SHA],
      ],
    ],
    [
      "a file below a file",
      [
        ["f", "a", 1, SHA],
        ["f", "a/b", 1, SHA],
      ],
    ],
    ["a link to the outside", [["l", "a", "../x"]]],
    ["a link to an absolute path", [["l", "a", "/etc/passwd"]]],
    ["a link that goes through others upwards", [["l", "a", "b/../../x"]]],
    ["a link that is not in its shortest form", [["l", "a", "b/../c"]]],
    ["a negative size", [["f", "a", -1, SHA]]],
    ["a broken size", [["f", "a", 1.5, SHA]]],
    ["a size that memory has not", [["f", "a", 2 ** 40, SHA]]],
    ["no hash", [["f", "a", 1, "abc"]]],
    ["a kind that nobody knows", [["p", "a"]]],
    ["what is no row", ["a"]],
  ])("%s", (_, rows) => {
    expect(() => parseManifest(text(rows))).toThrow(BadPackageError);
  });

  test.each([["{"], ["null"], ["[2,[]]"], ["[1]"]])("not the form of a manifest: %s", (given) => {
    expect(() => parseManifest(Buffer.from(given))).toThrow(/cannot be read/);
  });
});

test.each([
  ["a/link", "../b", "../b"],
  ["a/link", "../../b", undefined],
  ["link", "a/../b", "b"],
  ["link", "./a/./b/", "a/b"],
  ["a/link", "..", ".."],
  ["link", ".", "."],
  ["link", "a/..", "."],
  ["link", "/a", undefined],
  ["link", "", undefined],
])("a link at %s to %s is one to %s", (path, target, expected) => {
  expect(linkTarget(path, target)).toBe(expected);
});
