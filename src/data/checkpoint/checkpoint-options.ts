/**
 * The option `checkpoint` of writers.
 *
 * The user's call checks the option, and which other options of the write go with it.
 * `write-checkpoint.ts` opens the folder when the write runs.
 */
import { custom, describeValue, isPlainObject } from "../../core/internal.ts";

/** How a write records which rows are done, so that a killed run resumes. */
export interface CheckpointOptions {
  /** The column that tells rows apart: whole numbers or texts, without nulls, each once. The source and the written rows have it. */
  readonly idColumn: string;
  /** A folder for the record, outside the written one: local, or of S3. The workers write there, too. */
  readonly path: string;
}

export const CHECKPOINT = custom<CheckpointOptions | undefined>(
  "an object { idColumn, path } of two texts is needed",
  undefined,
  (value) => {
    if (!isPlainObject(value)) return "wrong type";
    const { idColumn, path, ...others } = value;
    return isText(idColumn) && isText(path) && Object.keys(others).length === 0 ? "ok" : "wrong type";
  },
);

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** @throws TypeError for options of a write that a checkpoint cannot keep */
export function checkCheckpoint(
  method: string,
  { checkpoint, mode, filenameProvider }: { readonly checkpoint?: unknown; readonly mode: string; readonly filenameProvider?: unknown },
): void {
  if (checkpoint === undefined) return;
  if (mode !== "append")
    throw new TypeError(
      `Cannot call ${method}: a checkpoint takes the mode "append", whose files are in place at once: received ${describeValue(mode)}`,
    );
  if (filenameProvider !== undefined)
    throw new TypeError(
      `Cannot call ${method}: a checkpoint knows its files by their names, so it takes no filenameProvider: received ${describeValue(filenameProvider)}`,
    );
}
