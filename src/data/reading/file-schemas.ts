/**
 * The columns of files that say nothing of them in a footer: tasks look at the beginnings of CSV and JSON files before these are read, so that the dataset has one schema.
 *
 * A single file is not looked at, as it agrees with itself. A file that cannot be looked at is left to the task that reads it, which says what is wrong.
 */
import { remote, type TaskOptions } from "../../core/index.ts";
import { shownPath } from "../../storage/paths.ts";
import type { Field } from "../blocks/data-type.ts";
import { commonFields } from "../engine/streams/common-schema.ts";
import { SMALL_FILE_TASKS_PER_CPU } from "../limits.ts";
import { inGroups } from "./grouped-files.ts";

/** Finds the columns of a file, in a worker. */
export type Look = (path: string, options: never) => Promise<readonly Field[]>;

interface LookOptions {
  /** The reader, for names of tasks. */
  readonly name: string;
  /** The options of the reader. */
  readonly options: object;
  readonly tasks: TaskOptions<1>;
  readonly cpus: number;
}

/** The columns of each file; undefined for those that cannot be read. */
export async function fieldsOfFiles(
  look: Look,
  paths: readonly string[],
  { name, options, tasks, cpus }: LookOptions,
): Promise<readonly (readonly Field[] | undefined)[]> {
  const task = remote(lookAtFiles.bind(undefined, look, options), { ...tasks, name: `${name}: columns` });
  const groups = inGroups(paths, cpus * SMALL_FILE_TASKS_PER_CPU).map((group) => task.remote(group));
  return (await Promise.all(groups)).flat();
}

/** Runs in workers. */
export async function lookAtFiles(look: Look, options: object, paths: readonly string[]): Promise<(readonly Field[] | undefined)[]> {
  const fields: (readonly Field[] | undefined)[] = [];
  for (const path of paths) fields.push(await look(path, options as never).catch(() => undefined));
  return fields;
}

/** A file and its columns. */
interface FileWithFields {
  readonly path: string;
  readonly fields: readonly Field[];
}

/**
 * The columns of files together.
 *
 * @throws DataError where a column has types that do not meet, with both files
 */
export async function fieldsTogether(files: readonly FileWithFields[]): Promise<readonly Field[]> {
  const common = await commonFields(
    files.map(({ path, fields }) => ({ kind: JSON.stringify(fields), file: shownPath(path), fields: () => Promise.resolve(fields) })),
  );
  return common ?? files[0]?.fields ?? [];
}
