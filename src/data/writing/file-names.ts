/**
 * The names of the files that a write makes: `part-00000-<id>.csv`, or those of the user's function.
 *
 * Names are given in this process, in the order of the rows, as files take their places. A name of the user's stays in its folder, is no hidden one, and takes no other file's place: neither
 * one of the same write nor, with `append`, one of before.
 */
import { describeValue, ignoreRejection } from "../../core/internal.ts";
import { shownPath } from "../../storage/paths.ts";
import { DataError } from "../errors.ts";

/** The facts that a name may be made of. */
export interface NamedFile {
  /** The file's number among those of this write, from 0, in the order of the rows. */
  readonly index: number;
  /** An id that all files of this write share, and no other write has. */
  readonly writeId: string;
  /** The extension with its dot, such as `.csv.gz`, which is added to names that do not end so. */
  readonly extension: string;
  /** The folder below that of the write, such as `city=Rome`; empty without `partitionBy`. */
  readonly partition: string;
  readonly rowCount: number;
}

/** The name of a file that a write makes without a function of the user's. */
const GIVEN_NAME = /^part-\d{5,}-[0-9a-f]{8}\.[a-z]+(?:\.(?:gz|br|zst))?$/;
const PARTITION_FOLDER = /^[^=]+=/;

/**
 * Whether a file below the target folder is named as a file of such a write: `part-00000-<id>.csv`, in the folder itself or in folders of partitions. With a function for names that is
 * any file with the extension of the write.
 */
export function isNamedByWrite(path: string, target: string, extension: string, hasProvider: boolean): boolean {
  const folders = path.slice(target.length + 1).split("/");
  const name = folders.pop() as string;
  return folders.every((folder) => PARTITION_FOLDER.test(folder)) && (GIVEN_NAME.test(name) || (hasProvider && name.endsWith(extension)));
}

export type FilenameProvider = (file: NamedFile) => string;

const NAME_BYTES_MAX = 255;

export class FileNames {
  readonly #provider: FilenameProvider | undefined;
  readonly #old: ReadonlySet<string>;
  readonly #given = new Set<string>();

  /** @param old - paths that no file may take */
  constructor(provider: FilenameProvider | undefined, old: readonly string[]) {
    this.#provider = provider;
    this.#old = new Set(old);
  }

  /** Returns the place of the next file. @throws DataError for an invalid or repeated name */
  placeOf(target: string, file: NamedFile): string {
    const { index, writeId, extension, partition } = file;
    const folder = partition === "" ? target : `${target}/${partition}`;
    if (this.#provider === undefined) return `${folder}/part-${String(index).padStart(5, "0")}-${writeId}${extension}`;
    const given: unknown = this.#provider(file);
    const name = typeof given === "string" && !given.endsWith(extension) ? `${given}${extension}` : given;
    if (!isFileName(name, extension)) {
      ignoreRejection(given);
      throw new DataError(`filenameProvider gave ${describeValue(given)} for file ${index}`, {
        hint: "it gives the name of a file without folders, that begins with neither a dot nor an underscore",
      });
    }
    const place = `${folder}/${name}`;
    if (this.#given.has(place))
      throw new DataError(`filenameProvider gave ${describeValue(name)} twice in ${shownPath(folder)}`, {
        hint: "make the name of index, which is another one for each file",
      });
    if (this.#old.has(place))
      throw new DataError(`Cannot write ${shownPath(place)}: it is there already`, {
        hint: 'make the name of writeId too, or choose mode: "overwrite"',
      });
    this.#given.add(place);
    return place;
  }

  /** Whether a file of this write has the place. */
  has(place: string): boolean {
    return this.#given.has(place);
  }
}

function isFileName(name: unknown, extension: string): name is string {
  return (
    typeof name === "string" &&
    name !== extension &&
    !/[/\\\p{Cc}]/u.test(name) &&
    !/^[._]/.test(name) &&
    Buffer.byteLength(name) <= NAME_BYTES_MAX
  );
}
