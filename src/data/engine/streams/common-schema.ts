/**
 * The common schema of blocks, as they arrive. Blocks are made apart, so only here does a column with two types show.
 *
 * The error names the files of both types, as far as the blocks' facts tell them. Used for the output of a run and for each input of an exchange.
 */
import { unifySchemas } from "../../blocks/block.ts";
import type { Field } from "../../blocks/data-type.ts";
import type { BlockRef } from "../operators/operator.ts";

export class CommonSchema {
  #fields: readonly Field[] = [];
  /** The first file in which a column has a type. */
  readonly #files = new Map<string, string>();

  get fields(): readonly Field[] {
    return this.#fields;
  }

  /**
   * Adds a block, which is released where it fits none before it.
   *
   * @throws DataError where a column has types that do not go together
   */
  add(block: Pick<BlockRef, "schema" | "release"> & { readonly origin?: { readonly file: string } | undefined }): void {
    const { schema, origin } = block;
    try {
      this.#fields = unifySchemas([this.#fields, schema], (column) => [this.#files.get(column), origin?.file]);
    } catch (error) {
      block.release();
      throw error;
    }
    if (origin === undefined) return;
    for (const { name, type } of schema) if (type.kind !== "null" && !this.#files.has(name)) this.#files.set(name, origin.file);
  }
}

/** A file whose footer is known. */
interface FileOfKind {
  /** The same text for files with the same columns in the same types. */
  readonly kind: string;
  /** For messages. */
  readonly file: string;
  /** Reads its columns. */
  fields(): Promise<readonly Field[]>;
}

/**
 * The schema of files together; undefined where all of them have the same, which is then not read.
 *
 * @throws DataError where a column has types that do not go together
 */
export async function commonFields(files: readonly FileOfKind[]): Promise<readonly Field[] | undefined> {
  const kinds = new Map<string, FileOfKind>();
  for (const file of files) if (!kinds.has(file.kind)) kinds.set(file.kind, file);
  if (kinds.size < 2) return undefined;
  const common = new CommonSchema();
  for (const { file, fields } of kinds.values()) common.add({ schema: await fields(), origin: { file }, release: () => {} });
  return common.fields;
}
