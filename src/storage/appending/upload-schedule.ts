/**
 * Decides when files that grow here are sent to a storage without appends.
 *
 * A file that has grown is due a few seconds later, however often it grows until then. So a crash takes at most that time's rows, and a
 * file costs one request in that time. Large files are sent whole each time, so they are due later, in proportion to their size. A few
 * files are sent at a time, longest waiting first: thousands that grow together take turns, and leave the storage to foreground requests.
 *
 * Files (`appended-file.ts`) report when they have grown and when they end. A file that cannot be sent is due again later, and the folder's
 * watchers are told.
 */
import {
  GROWN_UPLOADS_AT_A_TIME,
  REMOTE_REQUESTS_AT_A_TIME,
  UPLOADED_AT_ONCE_BYTES_MAX,
  UPLOADED_BYTES_A_SECOND,
  UPLOADED_EVERY_MS,
} from "../limits.ts";

/** A file as the schedule sees it. */
export interface GrowingFile {
  /** The folder in the storage that it belongs to. */
  readonly folder: string;
  readonly sizeBytes: number;
  /** Sends the file's present content. Calls do not overlap. */
  upload(): Promise<void>;
}

/** A listener for the files below a folder: called when the first of them cannot be sent, and when all can again. */
interface Watch {
  readonly folder: string;
  readonly tell: (text: string) => void;
  readonly failing: Set<GrowingFile>;
  isAway: boolean;
}

export class UploadSchedule {
  /** Files that have grown since their last upload began. */
  readonly #timers = new Map<GrowingFile, NodeJS.Timeout>();
  /** Due files, in this order. */
  readonly #due = new Set<GrowingFile>();
  readonly #underWay = new Map<GrowingFile, Promise<void>>();
  /** Files that have not grown since they ended. */
  readonly #ended = new WeakSet<GrowingFile>();
  readonly #watches = new Set<Watch>();
  readonly #everyMs: number;

  /** @param everyMs the delay until a small file that has grown is due */
  constructor(everyMs: number = UPLOADED_EVERY_MS) {
    this.#everyMs = everyMs;
  }

  /** The file has bytes that the storage lacks. */
  grown(file: GrowingFile): void {
    this.#ended.delete(file);
    this.#sendLater(file);
  }

  #sendLater(file: GrowingFile): void {
    if (this.#timers.has(file)) return;
    const waitMs = Math.max(this.#everyMs, (1000 * file.sizeBytes) / UPLOADED_BYTES_A_SECOND);
    const becomeDue = (): void => {
      this.#due.add(file);
      this.#sendDue();
    };
    // A file that is never closed must not keep the program running.
    this.#timers.set(file, setTimeout(becomeDue, waitMs).unref());
  }

  /** Reports the first failed upload below the folder, and the end of the failures. @returns a function that stops this */
  watch(folder: string, tell: (text: string) => void): () => void {
    const watch: Watch = { folder, tell, failing: new Set(), isAway: false };
    this.#watches.add(watch);
    return () => void this.#watches.delete(watch);
  }

  /** The file ends: it is not sent from here any more once this resolves, unless it grows again. */
  async ended(file: GrowingFile): Promise<void> {
    this.#ended.add(file);
    this.#forget(file);
    await this.#underWay.get(file);
    for (const { failing } of this.#watches) failing.delete(file);
  }

  /** Sends the small files of a folder that have grown, without waiting for their time. Never rejects. */
  async sendNow(folder: string): Promise<void> {
    const send = async (file: GrowingFile): Promise<void> => {
      await this.#underWay.get(file);
      if (this.#timers.has(file)) await (this.#underWay.get(file) ?? this.#send(file));
    };
    const files = new Set([...this.#underWay.keys(), ...this.#timers.keys()]);
    const small = [...files].filter((file) => file.folder === folder && file.sizeBytes <= UPLOADED_AT_ONCE_BYTES_MAX);
    for (let i = 0; i < small.length; i += REMOTE_REQUESTS_AT_A_TIME)
      await Promise.all(small.slice(i, i + REMOTE_REQUESTS_AT_A_TIME).map(send));
  }

  #sendDue(): void {
    for (const file of this.#due) {
      if (this.#underWay.size >= GROWN_UPLOADS_AT_A_TIME) return;
      // Such a file gets its turn again when the running upload ends.
      if (!this.#underWay.has(file)) void this.#send(file);
    }
  }

  #send(file: GrowingFile): Promise<void> {
    this.#forget(file);
    const upload = file.upload().then(
      () => this.#sent(file),
      (error: Error) => {
        this.#sent(file, error);
        if (!this.#ended.has(file)) this.#sendLater(file);
      },
    );
    this.#underWay.set(file, upload);
    return upload;
  }

  #sent(file: GrowingFile, error?: Error): void {
    this.#underWay.delete(file);
    for (const watch of this.#watches) if (`${file.folder}/`.startsWith(`${watch.folder}/`)) tellOutcome(watch, file, error);
    this.#sendDue();
  }

  #forget(file: GrowingFile): void {
    clearTimeout(this.#timers.get(file));
    this.#timers.delete(file);
    this.#due.delete(file);
  }
}

function tellOutcome(watch: Watch, file: GrowingFile, error: Error | undefined): void {
  if (error === undefined) watch.failing.delete(file);
  else watch.failing.add(file);
  const isAway = watch.failing.size > 0;
  if (isAway === watch.isAway) return;
  watch.isAway = isAway;
  watch.tell(
    error === undefined ? `files that grow in ${watch.folder} are sent again` : `files that grow wait on this machine: ${error.message}`,
  );
}

/** The schedule of this process. */
export const uploadSchedule = new UploadSchedule();
