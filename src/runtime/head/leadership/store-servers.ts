/**
 * The servers of the control store, as this head knows them. Looked up at the start and from time to time, since somebody may replace one.
 *
 * The known servers stay in the list while nobody answers: nodes then need the addresses, to find out whether all are away. Made by
 * `head-lifecycle.ts` for heads that can be taken over from.
 */
import type { StoreServer } from "../../wire/cluster/cluster-messages.ts";

/** All of them; undefined where one is neither found nor known from before. */
type FindStoreServers = (known: readonly StoreServer[]) => Promise<readonly StoreServer[] | undefined>;

const LOOK_EVERY_MS = 30_000;
/** Interval until all of them are known. */
const LOOK_AGAIN_MS = 2_000;

export class StoreServers {
  readonly #find: FindStoreServers | undefined;
  #timer: NodeJS.Timeout | undefined;
  #known: readonly StoreServer[] | undefined;
  #isClosed = false;

  /** @param find undefined if there are no servers to find */
  constructor(find: FindStoreServers | undefined) {
    this.#find = find;
    void this.#look();
  }

  get known(): readonly StoreServer[] | undefined {
    return this.#known;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#find === undefined) return;
    try {
      this.#known = await this.#find(this.#known ?? []);
    } catch {
      // The store is away.
    }
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#look(), this.#known === undefined ? LOOK_AGAIN_MS : LOOK_EVERY_MS);
    this.#timer.unref();
  }
}
