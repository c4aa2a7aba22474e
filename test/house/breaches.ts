/**
 * Finds what breaks the layer table: imports that a folder may not have. Pure, so that the rules are tested on made-up trees.
 */
import { BANDS_OF_ROWS, LAYER_TABLE, type LayerRow, MAY_IMPORT_NODE, PACKAGES, PUBLIC, PUBLIC_FILES } from "./layer-table.ts";
import type { Import, SourceFile } from "./source-files.ts";

/** Returns a line for each forbidden import, with the allowed set. */
export function importBreaches(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map((file) => file.path));
  return files.flatMap((file) => {
    const row = rowOf(file.path);
    if (row === undefined) {
      return [`src/${file.path}: the folder "${folderOf(file.path)}" has no row in test/house/layer-table.ts`];
    }
    return file.imports.flatMap((wanted) => {
      const reason = wanted.target === undefined ? packageBreach(file, wanted) : folderBreach(file, row, wanted.target, known);
      return reason === undefined ? [] : [`src/${file.path} imports ${wanted.specifier}: ${reason}`];
    });
  });
}

function folderBreach(file: SourceFile, row: LayerRow, target: string, known: ReadonlySet<string>): string | undefined {
  if (!known.has(target)) return "there is no such file (imports name the .ts file)";
  const from = folderOf(file.path);
  const to = folderOf(target);
  if (from === to) return undefined;
  if (!row.mayImport.includes(to)) return `${from} (layer ${row.layer}) may import ${list([from, ...row.mayImport])}`;
  const doors = LAYER_TABLE[to]?.doors;
  if (doors === undefined || doors.includes(target) || row.mayEnter?.includes(to) === true) return undefined;
  return `other folders import ${to} through ${list(doors)}`;
}

function packageBreach(file: SourceFile, { specifier }: Import): string | undefined {
  const folder = folderOf(file.path);
  const allowed = specifier.startsWith("node:") ? MAY_IMPORT_NODE : PACKAGES[specifier];
  if (allowed === undefined) return `it is no dependency of the package; known are ${list(Object.keys(PACKAGES))}`;
  return allowed.includes(folder) ? undefined : `only ${list(allowed)} may import it`;
}

/** Returns the part of the path that has a row: the first folder, or the first two. */
function folderOf(path: string): string {
  const folders = path.split("/").slice(0, -1);
  return folders.slice(0, BANDS_OF_ROWS.includes(folders[0] ?? "") ? 2 : 1).join("/") || PUBLIC;
}

function rowOf(path: string): LayerRow | undefined {
  const folder = folderOf(path);
  return folder === PUBLIC ? PUBLIC_FILES : LAYER_TABLE[folder];
}

function list(names: readonly string[]): string {
  return names.join(", ");
}
