/** The interface of all storages: files of this machine, S3, HTTP. Paths are as users write them. */

export interface ListedFile {
  /** The path in full: absolute, or a URL. */
  readonly path: string;
  /** As it is stored, that is compressed where it is so. */
  readonly sizeBytes: number;
}

/** The raw bytes of a file to be. It appears at its path when it is committed, whole, or never. */
export interface FileSink {
  /** Appends bytes. They may be changed once the promise is fulfilled. */
  write(bytes: Uint8Array): Promise<void>;
  commit(): Promise<void>;
  /** Drops the written bytes; an earlier file at the path stays. */
  abort(): Promise<void>;
}

export interface SinkOptions {
  /** Whether the file outlives a power cut once it is committed. Without that, it still appears whole or not at all to every process. Default: true. */
  readonly isDurable?: boolean;
}

/** A file whose bytes are fetched on demand. It may not change meanwhile. */
export interface FileBytes extends AsyncDisposable {
  readonly sizeBytes: number;
  /** The bytes from `start` to before `end`, both within the file. */
  read(start: number, end: number): Promise<ArrayBuffer>;
}

export interface FileSystem {
  /** The path in full, without a slash at its end. */
  fullPath(path: string): string;
  /** The files of a path: itself, all files of a folder, or the matches of a glob. None if nothing exists. In no order. */
  list(path: string): Promise<ListedFile[]>;
  /** All files below a folder, hidden ones too; none for a missing folder. In no order. */
  listAll(folder: string): Promise<ListedFile[]>;
  /** Whether there is a folder. Storages without folders know no empty ones. */
  hasFolder(path: string): Promise<boolean>;
  /** Returns the names of files and folders directly in a folder, hidden ones too, in no order. A missing folder has none. */
  names(folder: string): Promise<{ readonly files: string[]; readonly folders: string[] }>;
  /** The raw bytes of a file, in chunks that the reader may keep. */
  read(path: string): AsyncGenerator<Uint8Array, void, undefined>;
  openBytes(path: string): Promise<FileBytes>;
  /** Makes a folder and its parents, if the storage has folders. */
  makeFolder(path: string): Promise<void>;
  /** Begins a file, in an existing folder. */
  openSink(path: string, options?: SinkOptions): Promise<FileSink>;
  /** Gives a whole file another name. The old name may stay until its folder is removed. */
  publish(file: StagedFile): Promise<void>;
  /** Renames a folder in one step, if the new name is free. Undefined if the storage cannot do that. */
  readonly renameFolder: ((from: string, to: string) => Promise<void>) | undefined;
  remove(paths: readonly string[]): Promise<void>;
  /** Removes a folder with all that is in it, finished or not. */
  removeFolder(path: string): Promise<void>;
}

export interface StagedFile {
  readonly from: string;
  readonly to: string;
  readonly sizeBytes: number;
}
