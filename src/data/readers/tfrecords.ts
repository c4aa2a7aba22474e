/** `readTfrecords`: files of TensorFlow's records as datasets. */
import { custom, flag, isPlainObject, readOptions } from "../../core/internal.ts";
import type { Dataset } from "../dataset.ts";
import type { Paths } from "../reading/file-choice.ts";
import { readTfrecordFile, tfrecordFields } from "../formats/tensorflow/example-reader.ts";
import { FEATURE_TYPES, listsWhereAnyIs } from "../formats/tensorflow/features.ts";
import type { Reader } from "../engine/tasks/task.ts";
import { definedOptions, fileDataset, FILES, NAMES, type ReadFilesOptions, splitOptions } from "../reading/read.ts";
import type { AnyRow } from "../row-types.ts";

/** The options of `readTfrecords`. */
export interface ReadTfrecordsOptions extends ReadFilesOptions {
  /**
   * Types of features: `"binary"`, `"string"`, `"float32"`, `"int64"`, `"int64 as bigint"`, and lists of them such as `"list<int64>"`. Default: bytes, floats and whole numbers as in the records;
   * single values where no record at the beginning of the files has several.
   */
  schema?: Readonly<Record<string, string>> | undefined;
  /** Only these features are read, in this order. Default: all. */
  columns?: readonly string[] | undefined;
  /** Give the bytes of records in the column `bytes`, without decoding them. Default: false. */
  raw?: boolean | undefined;
}

const TFRECORDS = {
  ...FILES,
  schema: custom<Readonly<Record<string, string>>>(
    `an object of types by features is needed, such as { tags: "list<int64>" }; types are ${FEATURE_TYPES.join(", ")}`,
    {},
    (value) =>
      !isPlainObject(value)
        ? "wrong type"
        : Object.values(value).every((type) => FEATURE_TYPES.includes(type as string))
          ? "ok"
          : "out of range",
  ),
  columns: NAMES,
  raw: flag(false),
};
const OTHER_NAMES = { tf_schema: 'it is schema: { tags: "list<int64>" }', compression: "it follows from the extension: .gz, .br or .zst" };

/**
 * TensorFlow's records, a row for each `tf.train.Example`, with a column for each feature. Checksums are compared. Files whose names end in `.gz` are decompressed.
 *
 * @throws TypeError, RangeError for wrong options; when it runs, DataError for damaged files, and for a feature of two types
 * @example
 * const images = data.readTfrecords("train-*.tfrecord", { schema: { label: "string", boxes: "list<float32>" } });
 */
export function readTfrecords<R extends AnyRow = AnyRow>(paths: Paths, options: ReadTfrecordsOptions = {}): Dataset<R> {
  const { own, tasks } = splitOptions(options, TFRECORDS);
  const { schema, columns, raw, ...files } = readOptions(own, { of: "readTfrecords", otherNames: OTHER_NAMES, options: TFRECORDS });
  return fileDataset("readTfrecords", paths, {
    files,
    tasks,
    reader: readTfrecordFile as Reader,
    options: definedOptions({ schema, columns, raw }),
    look: tfrecordFields,
    settle: listsWhereAnyIs,
  });
}
