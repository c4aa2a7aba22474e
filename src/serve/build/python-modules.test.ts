import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digestOfPython, filesOf, modulesNamedIn } from "./python-modules.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-modules-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const named = (text: string): string[] => modulesNamedIn(text).map(({ dots, parts }) => ".".repeat(dots) + parts.join("."));
const found = (place: string, ...folders: string[]): string[] => filesOf(place, folders).map((file) => relative(folder, file));

describe("modulesNamedIn", () => {
  test("reads the forms of import statements, wherever they stand", () => {
    expect(named("import os, a.b as c\nif x: import d; import e")).toEqual(["os", "a.b", "d", "e"]);
    expect(named("from a.b import c as d, e")).toEqual(["a.b", "a.b.c", "a.b.e"]);
    expect(named("def f():\n    from . import g\n    from ..h import (i,  # why\n        j)")).toEqual([
      ".",
      ".g",
      "..h",
      "..h.i",
      "..h.j",
    ]);
    expect(named("from a import \\\n  b\nimportlib.import_module('k.l')")).toEqual(["a", "a.b", "k.l"]);
    expect(named("# import no\nimported = 1\nreport = from_import(2)")).toEqual([]);
  });
});

describe("filesOf", () => {
  test("follows imports through the project, and leaves out what is not of it", () => {
    write({
      "app.py": "import numpy\nimport weights\nfrom package.inner import model",
      "weights.py": "import app",
      "other.py": "",
      "package/__init__.py": "",
      "package/inner/__init__.py": "from ..top import x",
      "package/inner/model.py": "from . import layers",
      "package/inner/layers.py": "",
      "package/top.py": "",
      "package/unused.py": "",
    });
    const files = [
      "package/__init__.py",
      "package/inner/__init__.py",
      "package/inner/layers.py",
      "package/inner/model.py",
      "package/top.py",
    ];
    expect(found(join(folder, "app.py"))[0]).toBe("app.py");
    expect(found(join(folder, "app.py")).toSorted()).toEqual(["app.py", ...files, "weights.py"]);
    expect(found(`${folder}/package.inner.model`).toSorted()).toEqual(files);
    expect(found("package.inner.model", folder).toSorted()).toEqual(files);
    expect(found("numpy.linalg", folder)).toEqual([]);
  });

  test("finds modules of folders without __init__.py, and in further folders", () => {
    write({ "src/app.py": "from space.part import x\nimport beside", "src/space/part.py": "", "beside.py": "" });
    expect(found(join(folder, "src/app.py"), folder).toSorted()).toEqual(["beside.py", "src/app.py", "src/space/part.py"]);
  });
});

describe("digestOfPython", () => {
  test("changes with what is imported, and with nothing else", () => {
    write({ "app.py": "import weights", "weights.py": "W = 1", "other.py": "" });
    const place = join(folder, "app.py");
    const before = digestOfPython(place, []).digest;
    write({ "other.py": "O = 1" });
    expect(digestOfPython(place, []).digest).toBe(before);
    write({ "weights.py": "W = 2" });
    expect(digestOfPython(place, []).digest).not.toBe(before);
    expect(digestOfPython("not.there", [folder]).digest).toBe("");
  });
});
