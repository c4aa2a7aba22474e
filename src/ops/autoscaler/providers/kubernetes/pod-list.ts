/**
 * The cluster's pods as a list that a watch keeps: one list, then its changes, from the last known version after each break.
 *
 * A list that the server calls too old is read again. While no watch runs, `current` reads the pods anew, so a caller never gets a list
 * from before a break without an error. Pods that this process makes are added at once.
 */
import { DELETED_KEPT_MAX, WATCH_PAUSE_MAX_MS, WATCH_PAUSE_MIN_MS } from "./limits.ts";
import { type KubernetesApi, KubernetesRefusal, type PodChange } from "./kubernetes-api.ts";
import type { Pod } from "./pod.ts";

interface PodListOptions {
  readonly api: Pick<KubernetesApi, "listPods" | "watchPods">;
  readonly onChange: () => void;
  /** For tests. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

export class PodList {
  readonly #options: PodListOptions;
  readonly #closing = new AbortController();
  readonly #pods = new Map<string, Pod>();
  /** Uids, oldest first. */
  readonly #deleted = new Set<string>();
  #version: string | undefined;
  #isWatching = false;
  #reading: Promise<void> | undefined;

  constructor(options: PodListOptions) {
    this.#options = options;
  }

  /** Begins the watch, which goes on until `close`. */
  start(): void {
    void this.#keepWatching();
  }

  /** The pods by their names. @throws where no watch runs and the list cannot be read */
  async current(): Promise<ReadonlyMap<string, Pod>> {
    if (!this.#isWatching) await this.#read();
    return this.#pods;
  }

  /** Adds a pod that this process has made: the watch tells it later. */
  add(pod: Pod): void {
    const { name, uid } = pod.metadata;
    if (!this.#deleted.has(uid) && !this.#pods.has(name)) this.#pods.set(name, pod);
  }

  get(name: string): Pod | undefined {
    return this.#pods.get(name);
  }

  close(): void {
    this.#closing.abort();
  }

  async #keepWatching(): Promise<void> {
    const { signal } = this.#closing;
    const { api, sleep = pause } = this.#options;
    let pauseMs = WATCH_PAUSE_MIN_MS;
    while (!signal.aborted) {
      const beganMs = performance.now();
      try {
        if (this.#version === undefined || this.#reading !== undefined) await this.#read();
        const watching = api.watchPods(this.#version ?? "", (change) => this.#take(change), signal);
        this.#isWatching = true;
        await watching;
        pauseMs = WATCH_PAUSE_MIN_MS;
      } catch (error) {
        // 410: the changes since then are gone. Any other refusal may be about the version as well.
        if (error instanceof KubernetesRefusal) this.#version = undefined;
      } finally {
        this.#isWatching = false;
      }
      if (signal.aborted) return;
      if (performance.now() - beganMs > WATCH_PAUSE_MAX_MS) pauseMs = WATCH_PAUSE_MIN_MS;
      await sleep(pauseMs * (0.5 + Math.random() / 2), signal);
      pauseMs = Math.min(WATCH_PAUSE_MAX_MS, 2 * pauseMs);
    }
  }

  /** Reads the whole list, once for all that wait. */
  async #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #readNow(): Promise<void> {
    const { pods, version } = await this.#options.api.listPods();
    this.#pods.clear();
    for (const pod of pods) this.#pods.set(pod.metadata.name, pod);
    this.#version = version;
    this.#options.onChange();
  }

  #take(change: PodChange): void {
    if (change.type === "mark") {
      this.#version = change.version;
      return;
    }
    const { name, uid, resourceVersion } = change.pod.metadata;
    this.#version = resourceVersion;
    if (change.type === "put") this.#pods.set(name, change.pod);
    else {
      if (this.#pods.get(name)?.metadata.uid === uid) this.#pods.delete(name);
      this.#deleted.add(uid);
      const [oldest] = this.#deleted;
      if (this.#deleted.size > DELETED_KEPT_MAX && oldest !== undefined) this.#deleted.delete(oldest);
    }
    this.#options.onChange();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
