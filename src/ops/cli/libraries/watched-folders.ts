/**
 * The folders whose changes make `shoal serve run --reload` run its target again.
 *
 * Folders are added before each attempt, as a mistake that fails the first one is mended there. A folder counts once its watch is set up,
 * and a folder inside another does not count twice. Called by `serve-commands.ts`.
 */
import { asError } from "../../../runtime/base/texts/describe.ts";
import { watchFolder } from "../../../runtime/os/files/folders/watch-folder.ts";

interface WatchedFoldersOptions {
  /** Called once for each burst of changes in any of the folders. */
  readonly changed: () => void;
  /** Prints a line for the user when a folder's changes, or a part of them, cannot be watched. */
  readonly tell: (line: string) => void;
}

export class WatchedFolders implements Disposable {
  readonly #options: WatchedFoldersOptions;
  readonly #watched = new Map<string, Disposable>();

  constructor(options: WatchedFoldersOptions) {
    this.#options = options;
  }

  /** Watches a folder, or reports that it cannot be watched: then the next call tries again. */
  add(folder: string): void {
    try {
      this.addOrThrow(folder);
    } catch (error) {
      this.#tell(folder, asError(error));
    }
  }

  /** The same for a folder without which there is nothing to run. @throws where it cannot be watched */
  addOrThrow(folder: string): void {
    for (const known of this.#watched.keys()) if (folder === known || folder.startsWith(`${known}/`)) return;
    this.#watched.set(
      folder,
      watchFolder(folder, this.#options.changed, (error) => this.#tell(folder, error)),
    );
  }

  #tell(folder: string, { message }: Error): void {
    this.#options.tell(`shoal serve: changes in ${folder} may not be seen: ${message}`);
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watched.values()) watch[Symbol.dispose]();
    this.#watched.clear();
  }
}
