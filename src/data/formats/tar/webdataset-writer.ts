/**
 * Writes rows as samples of WebDataset: a file of a tar archive for each column, named by the sample's key and the column.
 *
 * Names are checked: unpacking an archive writes nothing outside its folder, and a reader finds the same keys and columns.
 * A value is written in the form that its extension has in the reader.
 */
import { NdArray } from "../../../core/index.ts";
import { describeValue } from "../../../core/internal.ts";
import { type Block, columnReader } from "../../blocks/block.ts";
import type { Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { encodeImage, IMAGE_FORMATS, type ImageFormat } from "../media/images.ts";
import { npyHeader } from "../numpy/npy-header.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar-writer.ts";
import { KEY_COLUMN, kindOfColumn } from "./webdataset-reader.ts";

const SAMPLE_NAME_BYTES_MAX = 255;

/** A shard that is being written. */
export class WebdatasetShard {
  /** Keys of rows without one begin with it. */
  readonly #id: string;
  #row = 0;
  #lastKey: string | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  /** The bytes of a block's samples, piece by piece. @throws DataError for names and values that no sample has */
  async *add(block: Block): AsyncGenerator<Uint8Array, void, undefined> {
    const columns = block.names.map((name, i) => [name, columnReader(name, block.vectors[i] as Vector)] as const);
    const own = columns.filter(([name]) => name !== KEY_COLUMN);
    for (const [name] of own) checkColumn(name);
    const readKey = columns.find(([name]) => name === KEY_COLUMN)?.[1];
    for (let row = 0; row < block.rowCount; row += 1, this.#row += 1) {
      const key = readKey === undefined ? `${this.#id}-${String(this.#row).padStart(8, "0")}` : this.#checkedKey(readKey(row), row);
      for (const [column, read] of own) {
        const value = read(row);
        if (value === null) continue;
        const bytes = await fileOf(value, column, row);
        yield tarHeader(`${key}.${column}`, bytes.length);
        yield bytes;
        yield tarPadding(bytes.length);
      }
    }
  }

  end(): Uint8Array {
    return tarEnd();
  }

  #checkedKey(key: unknown, row: number): string {
    const parts = typeof key === "string" ? key.split("/") : [];
    const isName =
      parts.length > 0 &&
      parts.every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= SAMPLE_NAME_BYTES_MAX);
    if (!isName || /[\\\p{Cc}]/u.test(key as string) || parts.at(-1)?.includes(".") === true)
      throw new DataError(
        `Cannot call writeWebdataset: row ${row} has a ${KEY_COLUMN} that names no sample: received ${describeValue(key)}`,
        {
          hint: "a key is a name without a dot, such as 000017, with folders before it at most: train/000017",
        },
      );
    if (key === this.#lastKey)
      throw new DataError(
        `Cannot call writeWebdataset: row ${row} has the same ${KEY_COLUMN} as the row before: received ${describeValue(key)}`,
        {
          hint: "a reader would make one sample of both: give each row a key of its own",
        },
      );
    this.#lastKey = key as string;
    return key as string;
  }
}

function checkColumn(name: string): void {
  const isExtension = /^[^./\\\p{Cc}]+(?:\.[^./\\\p{Cc}]+)*$/u.test(name) && Buffer.byteLength(name) <= SAMPLE_NAME_BYTES_MAX;
  if (isExtension && name === name.toLowerCase()) return;
  throw new DataError(`Cannot call writeWebdataset: the column ${JSON.stringify(name)} is no extension of a file`, {
    hint: 'rename it: renameColumns({ image: "jpg", label: "cls" })',
  });
}

/** The bytes of a value, in the form that its extension stands for. */
async function fileOf(value: unknown, column: string, row: number): Promise<Uint8Array> {
  const kind = kindOfColumn(column);
  const extension = column.slice(column.lastIndexOf(".") + 1);
  if (kind === "json") return Buffer.from(JSON.stringify(value, exactNumbers));
  if (typeof value === "string") return Buffer.from(value);
  if (value instanceof Uint8Array) return value;
  if (value instanceof NdArray && kind === "npy") return npyOf(value);
  if (value instanceof NdArray && kind === "image") {
    const format = extension === "jpg" ? "jpeg" : extension === "tif" ? "tiff" : extension;
    if (IMAGE_FORMATS.includes(format as ImageFormat)) return encodeImage(value, format as ImageFormat, { column, row });
  }
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return Buffer.from(String(value));
  throw new DataError(
    `Cannot call writeWebdataset: column ${JSON.stringify(column)}: row ${row} is ${describeValue(value)}, which has no form as .${extension}`,
    {
      hint: `rename the column: ${JSON.stringify(`${column}.json`)} holds every value, and ".npy" numbers and tensors`,
    },
  );
}

function exactNumbers(_: string, value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  if (Number.isSafeInteger(Number(value))) return Number(value);
  return value.toString();
}

function npyOf({ data, shape, dtype }: NdArray): Uint8Array {
  return Buffer.concat([npyHeader(dtype, shape), new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]);
}
