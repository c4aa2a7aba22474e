/** `readWebdataset`: shards of WebDataset as datasets. */
import { custom, flag, isPlainObject, readOptions } from "../../core/internal.ts";
import type { Dataset } from "../dataset.ts";
import type { Paths } from "../reading/file-choice.ts";
import { readWebdatasetFile, type WebdatasetDecoder } from "../formats/tar/webdataset-reader.ts";
import type { Reader } from "../engine/tasks/task.ts";
import { definedOptions, fileDataset, FILES, NAMES, type ReadFilesOptions, splitOptions } from "../reading/read.ts";
import type { AnyRow } from "../row-types.ts";

/** The options of `readWebdataset`. */
export interface ReadWebdatasetOptions extends ReadFilesOptions {
  /**
   * Whether files are decoded by their extension: texts (`txt`), whole numbers (`cls`, `id`), `json`, `npy`, and images by the package `sharp`. Others are bytes. Default: true.
   */
  decode?: boolean | undefined;
  /** Decoders of one's own, by column or by extension. They travel to the workers with their captured variables. Default: none. */
  decoders?: Readonly<Record<string, WebdatasetDecoder>> | undefined;
  /** Only these columns beside `__key__`, such as `["jpg", "cls"]`. Default: all. */
  columns?: readonly string[] | undefined;
  /** The keys of objects in JSON are columns of their own. Default: false. */
  expandJson?: boolean | undefined;
}

const WEBDATASET = {
  ...FILES,
  decode: flag(true),
  decoders: custom<Readonly<Record<string, WebdatasetDecoder>>>(
    "an object of functions by extension is needed, such as { pgm: (bytes) => … }",
    {},
    (value) => (isPlainObject(value) && Object.values(value).every((decoder) => typeof decoder === "function") ? "ok" : "wrong type"),
  ),
  columns: NAMES,
  expandJson: flag(false),
};
const OTHER_NAMES = {
  decoder: "it is decode, or decoders",
  suffixes: "it is columns",
  fileselect: "it is columns",
  expand_json: "it is expandJson",
};

/**
 * Shards of WebDataset: tar archives whose files of one name are a row, with a column for each extension, and the name as `__key__`. A shard is read as a stream; its name may end in `.gz` or `.zst`.
 *
 * @throws TypeError for wrong options; when it runs, DataError for damaged archives and for files that cannot be decoded
 * @example
 * const pictures = data.readWebdataset("shards/train-*.tar", { columns: ["jpg", "cls"] });
 */
export function readWebdataset<R extends AnyRow = { __key__: string } & AnyRow>(
  paths: Paths,
  options: ReadWebdatasetOptions = {},
): Dataset<R> {
  const { own, tasks } = splitOptions(options, WEBDATASET);
  const { decode, decoders, columns, expandJson, ...files } = readOptions(own, {
    of: "readWebdataset",
    otherNames: OTHER_NAMES,
    options: WEBDATASET,
  });
  return fileDataset("readWebdataset", paths, {
    files,
    tasks,
    reader: readWebdatasetFile as Reader,
    // The columns of the option are never those of the paths or the key, so they are not told to the source.
    options: definedOptions({ decode, decoders, only: columns, expandJson }),
  });
}
