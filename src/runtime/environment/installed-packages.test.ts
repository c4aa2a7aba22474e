/** Tests which versions are compared: those that Node would find for the names in package.json files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { installedPackages } from "./installed-packages.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "test-shoal-installed-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, manifest: object | string): void {
  const file = join(root, path, "package.json");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof manifest === "string" ? manifest : JSON.stringify(manifest));
}

test("packages are found where Node looks, for each folder with a package.json", () => {
  write(".", { dependencies: { a: "^1" }, devDependencies: { missing: "*" } });
  write("part", { dependencies: { a: "^2", hoisted: "*" }, peerDependencies: { "@scope/b": "*" } });
  write("node_modules/a", { name: "a", version: "1.0.0" });
  write("node_modules/@scope/b", { name: "@scope/b", version: "3.0.0" });
  write("node_modules/hoisted", { name: "hoisted", version: "4.0.0" });
  write("part/node_modules/a", { name: "a", version: "2.0.0" });
  expect(installedPackages(root, ["part"])).toEqual([
    ["", "a", "1.0.0"],
    ["part", "a", "2.0.0"],
    ["part", "hoisted", "4.0.0"],
    ["part", "@scope/b", "3.0.0"],
  ]);
});

test("a folder inside a project belongs to the project, and what cannot be read says nothing", () => {
  write(".", { dependencies: { a: "*", broken: "*" } });
  write("node_modules/a", { name: "a", version: "1.0.0" });
  write("node_modules/broken", "{ half");
  mkdirSync(join(root, "scripts"));
  expect(installedPackages(join(root, "scripts"), [])).toEqual([["", "a", "1.0.0"]]);
});
