/**
 * Finds the project's files of a Python class: its own file and all project files that it imports, at any depth.
 *
 * Reads the text of import statements without running Python. A module counts if one of the searched folders has its file, so packages installed elsewhere do
 * not. Imports in comments and strings may add a module, which at worst makes a needless version. Called when an application is built, because the digest of
 * these files is part of a deployment's version.
 */
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { VERSIONED_FILES_MAX } from "../limits.ts";
import { digestOfFiles, digestsOf, type FileDigest } from "./file-digest.ts";
import { statIfThere } from "./file-stat.ts";

/** `from a.b import c, d`, over several lines in brackets; `import a.b as x, c`; a name that `import_module` gets. */
const STATEMENTS =
  /(?:^|[;:])[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n;]*))|(?:^|[;:])[ \t]*import[ \t]+([^\n;]+)|\bimport_module\([ \t\n]*["'](\w[\w.]*)["']/gmu;

/** A module that a statement names: its parts, after so many dots. */
interface Named {
  readonly dots: number;
  readonly parts: readonly string[];
}

/**
 * The files that the code at a place is made of, and a digest of them all; empty where the place is none of this machine's.
 *
 * @param place a file, a dotted module, or one with a folder and a slash before it, as `python.actor` names them
 * @param folders where modules are searched, besides the folder of the place
 */
export function digestOfPython(
  place: string,
  folders: readonly string[],
): { readonly digest: string; readonly files: readonly FileDigest[] } {
  const files = digestsOf(filesOf(place, folders));
  return { digest: digestOfFiles(files, files[0]?.[0]), files };
}

/** @internal the file of the place first */
export function filesOf(place: string, folders: readonly string[]): string[] {
  const { start, roots } = startOf(place, folders);
  const found = new Set(start);
  for (const file of found) {
    if (found.size >= VERSIONED_FILES_MAX) break;
    for (const named of modulesNamedIn(readFileSync(file, "utf8"))) for (const one of filesNamed(named, file, roots)) found.add(one);
  }
  return [...found];
}

/** @internal the modules that import statements name; with `from a import b` also `a.b`, which may be one */
export function modulesNamedIn(text: string): Named[] {
  const found: Named[] = [];
  const add = (path: string, name?: string): void => {
    const dots = path.length - path.replace(/^\.+/, "").length;
    const parts = path.slice(dots).split(".").filter(Boolean);
    found.push({ dots, parts: name === undefined ? parts : [...parts, name] });
  };
  const plain = text.replace(/\\\r?\n/g, " ").replace(/#.*$/gm, "");
  for (const [, from, bracketed, listed, imported, loaded] of plain.matchAll(STATEMENTS)) {
    if (from !== undefined) {
      add(from);
      for (const name of namesIn(bracketed ?? listed ?? "")) add(from, name);
    }
    for (const name of imported === undefined ? [] : namesIn(imported)) add(name);
    if (loaded !== undefined) add(loaded);
  }
  return found;
}

function namesIn(list: string): string[] {
  return list.split(",").flatMap((item) => /^[\w.]+/u.exec(item.trim())?.[0] ?? []);
}

function startOf(place: string, folders: readonly string[]): { start: string[]; roots: string[] } {
  if (isFile(place)) {
    const file = resolve(place);
    return { start: [file], roots: [dirname(file), ...folders] };
  }
  const slash = place.lastIndexOf("/");
  const roots = slash < 0 ? [...folders] : [resolve(place.slice(0, slash)), ...folders];
  const parts = place.slice(slash + 1).split(".");
  const files = filesAt(parts, roots);
  // The module itself, and not only the packages around it.
  return { start: files.toReversed(), roots };
}

/** The files that are loaded for a module that `file` imports, its packages among them. */
function filesNamed({ dots, parts }: Named, file: string, roots: readonly string[]): string[] {
  if (dots === 0) return filesAt(parts, roots);
  let folder = dirname(file);
  for (let above = 1; above < dots; above += 1) folder = dirname(folder);
  const own = join(folder, "__init__.py");
  return [...(isFile(own) ? [own] : []), ...filesAt(parts, [folder])];
}

function filesAt(parts: readonly string[], roots: readonly string[]): string[] {
  for (const root of roots) {
    const files: string[] = [];
    let folder = root;
    for (const part of parts) {
      const file = join(folder, `${part}.py`);
      folder = join(folder, part);
      const own = join(folder, "__init__.py");
      if (isFile(own)) files.push(own);
      else if (isFile(file)) {
        files.push(file);
        break;
      } else if (!isFolder(folder)) break;
    }
    if (files.length > 0) return files;
  }
  return [];
}

function isFile(path: string): boolean {
  return statIfThere(path)?.isFile() === true;
}

function isFolder(path: string): boolean {
  return statIfThere(path)?.isDirectory() === true;
}
