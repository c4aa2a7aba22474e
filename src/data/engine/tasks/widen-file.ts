/**
 * Gives a written file the columns of all files in its write (decision 76).
 *
 * A user's function may return other columns in other blocks, so the files of several tasks may differ. Parquet is read and written again, as its columns have types.
 * CSV and JSON keep the text of each value, and get the missing columns. The tasks run in workers.
 */
import { FileWriter } from "../../../storage/file-writer.ts";
import { readChunks } from "../../../storage/read-file.ts";
import { type Block, blockOfRows, conformBlock } from "../../blocks/block.ts";
import type { Field } from "../../blocks/data-type.ts";
import { csvWithColumns, jsonWithColumns } from "../../formats/added-columns.ts";
import { readParquetFooter, readParquetPart } from "../../formats/parquet/parquet-reader.ts";
import type { SourcePart } from "../../plan/logical-plan.ts";
import type { PhysicalPlan } from "../../plan/physical-plan.ts";
import { type FileFormat, openFile, type WriteTransform } from "../writes/write-transform.ts";

/** A file in its place whose columns are not those of all. */
export interface NarrowFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly fields: readonly Field[];
}

/** The row of a file that was made anew. */
export interface WidenedFile extends Record<string, unknown> {
  /** The path of the replaced file. */
  readonly path: string;
  readonly staged: string;
  readonly sizeBytes: number;
  /** The size of the replaced file. */
  readonly narrowBytes: number;
}

/** Whether files with these columns have to be made anew for the columns of all. */
export function isNarrow(own: readonly Field[], all: readonly Field[], { kind }: FileFormat): boolean {
  // Columns of JSON have no order, and those of text no types.
  if (kind === "json") return own.length < all.length;
  const shown = (fields: readonly Field[]): string => JSON.stringify(kind === "csv" ? fields.map(({ name }) => name) : fields);
  return shown(own) !== shown(all);
}

/** The plan that makes files anew: it gives a {@link WidenedFile} a file. */
export function widenPlan(files: readonly NarrowFile[], all: readonly Field[], transform: WriteTransform): PhysicalPlan {
  const { name, stagingFolder, extension, format } = transform;
  const target = { stagingFolder, extension, format };
  const parts = files.map((file): SourcePart => ({ args: [file, all, target] }));
  const named = `${name} (one schema)`;
  return { kind: "read", name: named, source: { name: named, reader: widenFile, parts }, chain: [], options: {} };
}

export async function* widenFile(
  { path, sizeBytes: narrowBytes, fields }: NarrowFile,
  all: readonly Field[],
  target: Pick<WriteTransform, "stagingFolder" | "extension" | "format">,
): AsyncGenerator<Block, void, undefined> {
  const { format } = target;
  const { staged, sizeBytes } =
    format.kind === "parquet"
      ? await widenedParquet(path, all, { ...target, kind: "write", name: "", partitionBy: [] })
      : await widenedText(path, { own: fields, all }, target);
  yield blockOfRows([{ path, staged, sizeBytes, narrowBytes } satisfies WidenedFile], "widenFile");
}

type Staged = Pick<WidenedFile, "staged" | "sizeBytes">;

async function widenedParquet(path: string, all: readonly Field[], transform: WriteTransform): Promise<Staged> {
  const { rowGroups, ...footer } = await readParquetFooter(path, []);
  const file = await openFile("", transform);
  try {
    const part = { ...footer, rowGroups: rowGroups.map((_, i) => i), firstRows: [], rowCount: 0 };
    for await (const block of readParquetPart(part, undefined, [])) await file.add(conformBlock(block, all));
    const [written] = await file.end();
    if (written === undefined) throw new Error("a table is a file");
    return written;
  } finally {
    await file.abort();
  }
}

async function widenedText(
  path: string,
  columns: { readonly own: readonly Field[]; readonly all: readonly Field[] },
  { stagingFolder, extension, format }: Pick<WriteTransform, "stagingFolder" | "extension" | "format">,
): Promise<Staged> {
  await using writer = await FileWriter.open(`${stagingFolder}/${crypto.randomUUID()}${extension}`);
  const chunks = readChunks(path);
  const made = format.kind === "csv" ? csvWithColumns(chunks, columns, format) : jsonWithColumns(chunks, columns);
  for await (const chunk of made) await writer.write(chunk);
  const { path: staged, sizeBytes } = await writer.commit();
  return { staged, sizeBytes };
}
