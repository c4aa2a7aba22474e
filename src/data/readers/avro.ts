/** `readAvro`: container files of Avro as datasets. */
import { readOptions } from "../../core/internal.ts";
import type { Dataset } from "../dataset.ts";
import type { Paths } from "../reading/file-choice.ts";
import { avroFields, readAvroFile } from "../formats/avro/avro-reader.ts";
import type { Reader } from "../engine/tasks/task.ts";
import { definedOptions, fileDataset, FILES, NAMES, type ReadFilesOptions, splitOptions } from "../reading/read.ts";
import type { AnyRow } from "../row-types.ts";

/** The options of `readAvro`. */
export interface ReadAvroOptions extends ReadFilesOptions {
  /** Only these columns are given, in this order. Default: all. */
  columns?: readonly string[] | undefined;
}

const AVRO = { ...FILES, columns: NAMES };

/**
 * Container files of Avro, a row a record, with the columns and types of their schemas. The codecs null, deflate, snappy and zstandard are read.
 *
 * @throws TypeError for wrong options; when it runs, DataError for damaged files, and for codecs and schemas that are not read
 * @example
 * const events = data.readAvro("events/*.avro", { columns: ["id", "at"] });
 */
export function readAvro<R extends AnyRow = AnyRow>(paths: Paths, options: ReadAvroOptions = {}): Dataset<R> {
  const { own, tasks } = splitOptions(options, AVRO);
  const { columns, ...files } = readOptions(own, { of: "readAvro", options: AVRO });
  return fileDataset("readAvro", paths, {
    files,
    tasks,
    reader: readAvroFile as Reader,
    options: definedOptions({ columns }),
    look: avroFields,
  });
}
