/**
 * Paths of a run in its log: relative to the run's folder, so that a copied or moved run continues with its own files.
 *
 * A log may come from a stranger, or from the folder that a run was copied from. So a recorded path never leads out of the folder
 * unnoticed, and nothing outside the folder is ever removed because of the log.
 */
import { joinPath, shownPath } from "../../storage/paths.ts";
import { liesIn } from "../../storage/places.ts";
import { RunError } from "../errors.ts";

export class RunPaths {
  /** The run's folder, in full. */
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Returns a path for the log: relative inside the run's folder, absolute otherwise. */
  recorded(path: string): string {
    return this.#isInside(path) ? path.slice(this.folder.length + 1) : path;
  }

  /**
   * Returns the full path that the log means.
   *
   * @throws RunError for a relative path that leads out of the run's folder, and for a record that is no path
   */
  resolved(recorded: unknown): string {
    if (typeof recorded !== "string" || recorded === "" || recorded.split(/[/\\]/).includes(".."))
      throw new RunError(
        `Cannot read the run ${shownPath(this.folder)}: its log has no path inside of the run: received ${shown(recorded)}`,
      );
    return /^(?:\/|[a-zA-Z][a-zA-Z0-9+.-]*:\/\/)/.test(recorded) ? recorded : joinPath(this.folder, recorded);
  }

  /** Whether a path may be removed on the word of the log: inside of the run's folder, also behind symbolic links. */
  async isRemovable(path: string): Promise<boolean> {
    return await liesIn(this.folder, path);
  }

  #isInside(path: string): boolean {
    return path.startsWith(`${this.folder}/`) && path.length > this.folder.length + 1 && !path.split("/").includes("..");
  }
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 200);
}
