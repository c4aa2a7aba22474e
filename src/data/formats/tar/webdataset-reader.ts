/**
 * Reads shards of WebDataset: tar archives in which files that follow each other and have the same name before the first dot are a sample.
 *
 * A sample is a row: `__key__` is that name, and each file is a column, named by its extension. Files are decoded by the last part
 * of that name. Nothing is unpacked to disk, and pickled values of Python stay bytes.
 */
import { messageOf } from "../../../core/internal.ts";
import { shownPath } from "../../../storage/paths.ts";
import { readChunks } from "../../../storage/read-file.ts";
import { badUtf8At } from "../../../storage/utf8.ts";
import { type Block, columnOfRows } from "../../blocks/block.ts";
import { BINARY, type DataType, INT64, STRING, variableTensorType } from "../../blocks/data-type.ts";
import { RowBytes } from "../../blocks/memory/row-bytes.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { ROWS_PER_BLOCK_MAX } from "../../limits.ts";
import { ByteWindow } from "../byte-window.ts";
import { decodeImage } from "../media/images.ts";
import { ndArrayOfNpy } from "../numpy/numpy-reader.ts";
import { tarEntries } from "./tar-reader.ts";

/** The column with the name of a sample. */
export const KEY_COLUMN = "__key__";

/** A decoder that the user gives: takes the bytes of a file and the name of the sample. */
export type WebdatasetDecoder = (bytes: Uint8Array, key: string) => unknown;

export interface WebdatasetOptions {
  /** Whether files are decoded by their extension. Default: true. */
  readonly decode?: boolean;
  /** Decoders of the user's, by column or by extension. */
  readonly decoders?: Readonly<Record<string, WebdatasetDecoder>>;
  /** Only these columns, beside the key. Default: all. */
  readonly only?: readonly string[];
  /** The keys of objects in JSON are columns. Default: the object is one value. */
  readonly expandJson?: boolean;
}

const EXTENSIONS: readonly (readonly [kind: Kind, extensions: string])[] = [
  ["text", "txt text transcript"],
  ["integer", "cls cls2 class count index inx id"],
  ["json", "json jsn"],
  ["npy", "npy"],
  ["image", "jpg jpeg png webp ppm pgm pbm pnm tif tiff gif"],
];
type Kind = "text" | "integer" | "json" | "npy" | "image";
const KINDS: ReadonlyMap<string, Kind> = new Map(
  EXTENSIONS.flatMap(([kind, extensions]) => extensions.split(" ").map((extension) => [extension, kind] as const)),
);
/** Types of columns whose values do not tell it. Others are inferred. */
const TYPES: Readonly<Partial<Record<Kind | "bytes", DataType>>> = {
  text: STRING,
  integer: INT64,
  image: variableTensorType("uint8", 3),
  bytes: BINARY,
};

/** The kind of a file, by the last part of the column's name. */
export function kindOfColumn(column: string): Kind | undefined {
  return KINDS.get(column.slice(column.lastIndexOf(".") + 1));
}

/** The rows of a shard. Runs in workers. */
export async function* readWebdatasetFile(path: string, options: WebdatasetOptions = {}): AsyncGenerator<Block, void, undefined> {
  yield* webdatasetBlocks(readChunks(path), shownPath(path), options);
}

/** {@link readWebdatasetFile} for bytes from elsewhere. `file` names them in errors. */
export async function* webdatasetBlocks(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  options: WebdatasetOptions = {},
): AsyncGenerator<Block, void, undefined> {
  const window = new ByteWindow(chunks, file);
  const samples = new Samples(file, options);
  try {
    for await (const { name, bytes } of tarEntries(window)) {
      const parts = partsOf(name);
      if (parts === undefined) continue;
      if (samples.isFull && parts.key !== samples.key) yield samples.take();
      await samples.add(name, parts, bytes);
    }
    if (samples.rowCount > 0) yield samples.take();
  } finally {
    await window.close();
  }
}

interface NameParts {
  readonly key: string;
  readonly column: string;
}

/** The parts of a file's name before and behind the first dot; undefined for names without a dot, and for files about the archive. */
function partsOf(name: string): NameParts | undefined {
  const [, key, column] = /^((?:.*\/)?[^./][^./]*)\.([^/]+)$/s.exec(name.replace(/^\.\//, "")) ?? [];
  if (key === undefined || column === undefined || /(?:^|\/)__[^/]*__(?:$|\/)/.test(key)) return undefined;
  return { key, column: column.toLowerCase() };
}

interface SampleColumn {
  readonly type: DataType | undefined;
  readonly values: unknown[];
}

/** Samples that wait to be a block. */
class Samples {
  readonly #file: string;
  readonly #options: WebdatasetOptions;
  #columns = new Map<string, SampleColumn>();
  #keys: string[] = [];
  readonly #size = new RowBytes();
  isFull = false;

  constructor(file: string, options: WebdatasetOptions) {
    this.#file = file;
    this.#options = options;
  }

  get rowCount(): number {
    return this.#keys.length;
  }

  /** The name of the last sample. */
  get key(): string | undefined {
    return this.#keys.at(-1);
  }

  async add(name: string, { key, column }: NameParts, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (key !== this.key) this.#keys.push(key);
    if (this.#options.only?.includes(column) === false) return;
    const { value, type } = await this.#decoded(name, { key, column }, bytes);
    const isObject = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
    if (this.#options.expandJson === true && kindOfColumn(column) === "json" && isObject)
      for (const [part, own] of Object.entries(value)) this.#set(name, part, { value: own, type: undefined });
    else this.#set(name, column, { value, type });
    if (this.#size.add({ value }) || this.rowCount >= ROWS_PER_BLOCK_MAX) this.isFull = true;
  }

  take(): Block {
    const { rowCount } = this;
    const names = [...this.#columns.keys()];
    const keys = this.#keys;
    const vectors = names.map((name) => {
      const { values, type } = this.#columns.get(name) as SampleColumn;
      while (values.length < rowCount) values.push(null);
      return columnOfRows(
        name,
        this.#file,
        (row) => `sample ${JSON.stringify(keys[row])}`,
        () => buildVector(values, type),
      );
    });
    this.#columns = new Map();
    this.#keys = [];
    this.#size.restart();
    this.isFull = false;
    return { rowCount, names: [KEY_COLUMN, ...names], vectors: [buildVector(keys, STRING), ...vectors] };
  }

  #set(name: string, column: string, { value, type }: { value: unknown; type: DataType | undefined }): void {
    const own = this.#columns.get(column) ?? { type, values: [] };
    this.#columns.set(column, own);
    const row = this.rowCount - 1;
    if (own.values.length > row || column === KEY_COLUMN)
      throw new DataError(
        `Cannot read ${this.#file}: ${JSON.stringify(name)} gives the sample the column ${JSON.stringify(column)} a second time`,
        {
          hint: "give the files of a sample different extensions, and samples that follow each other different names",
        },
      );
    while (own.values.length < row) own.values.push(null);
    own.values.push(value);
  }

  async #decoded(
    name: string,
    { key, column }: NameParts,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<{ value: unknown; type: DataType | undefined }> {
    const { decoders = {}, decode = true } = this.#options;
    const extension = column.slice(column.lastIndexOf(".") + 1);
    const own = [column, extension].find((one) => Object.hasOwn(decoders, one));
    const kind = decode ? KINDS.get(extension) : undefined;
    try {
      if (own !== undefined) return { value: await decoders[own]?.(bytes, key), type: undefined };
      return { value: kind === undefined ? bytes : await decodeAs(kind, bytes), type: TYPES[kind ?? "bytes"] };
    } catch (error) {
      const what = own === undefined ? `as ${kind}` : `by the decoder of ${JSON.stringify(own)}`;
      throw new DataError(`Cannot read ${this.#file}: ${JSON.stringify(name)} cannot be decoded ${what}: ${messageOf(error)}`, {
        cause: error,
        hint: `decode it otherwise: decoders: { ${JSON.stringify(extension)}: (bytes) => … }; or take bytes: decode: false`,
      });
    }
  }
}

function decodeAs(kind: Kind, bytes: Uint8Array<ArrayBuffer>): unknown {
  if (kind === "image") return decodeImage(bytes, {});
  if (kind === "npy") return ndArrayOfNpy(bytes);
  const bad = badUtf8At(bytes);
  if (bad >= 0) throw new DataError(`byte ${bad} is no UTF-8`);
  const text = new TextDecoder().decode(bytes);
  if (kind === "text") return text;
  if (kind === "json") return JSON.parse(text) as unknown;
  const number = Number(text.trim());
  if (text.trim() === "" || !Number.isSafeInteger(number)) throw new DataError(`${JSON.stringify(text.slice(0, 40))} is no whole number`);
  return number;
}
