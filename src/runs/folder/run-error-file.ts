/** The error of a failed run in its folder: `error.txt` as in Ray, for people, and for `Result.fromPath`. */
import { writeWhole } from "../../storage/listing/folders.ts";
import { joinPath } from "../../storage/paths.ts";
import { removeFiles } from "../../storage/places.ts";
import { readTextIfThere } from "../../storage/read-file.ts";
import { RunError } from "../errors.ts";

const ERROR_FILE = "error.txt";

export async function writeRunError(folder: string, error: Error): Promise<void> {
  const text = `${error.name}: ${error.message}\n\n${error.stack ?? ""}\n`;
  await writeWhole(joinPath(folder, ERROR_FILE), text);
}

/** A continued run has not failed. */
export async function removeRunError(folder: string): Promise<void> {
  await removeFiles([joinPath(folder, ERROR_FILE)]);
}

export async function readRunError(folder: string): Promise<RunError | undefined> {
  const text = await readTextIfThere(joinPath(folder, ERROR_FILE));
  if (text === undefined) return undefined;
  const [message = ""] = text.split("\n\n");
  return new RunError(message, { details: { text } });
}
