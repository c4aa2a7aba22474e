/**
 * The shared memory of one compiled graph: a file that its processes map, with the channels in it, and a doorbell for each process.
 *
 * Decides how a process sleeps. It sets a word in the memory, looks once more, and then waits for its doorbell in the event loop, or blocks on that word for
 * a moment. A publisher wakes it once, and only if it sleeps. The files lose their names once all processes have joined, so no death leaves one behind.
 * Large values travel in separate files, which the last reader removes, or at the end the process that compiled the graph.
 */
import { type Doorbell, type DoorbellListener, listenDoorbell, openDoorbell } from "../../os/processes/memory/doorbell.ts";
import { nativeUnavailableReason, type SharedMemory, sharedMemory } from "../../os/shared-memory.ts";
import { openToShare, removeFilesNamed, storeFiles } from "../../os/files/store/store-file.ts";
import { type ChannelMemory, type ChannelPlace, placeChannels } from "./channel.ts";
import { LINE_WORDS } from "../limits.ts";

/** Why there can be no channels here, as the end of a sentence. */
export function channelsUnavailableReason(): string | undefined {
  // Named pipes that a process opens for reading and writing are Linux's; elsewhere nobody has tried them yet.
  if (process.platform !== "linux") return `channels in shared memory are made on Linux only, and this is ${process.platform}`;
  return nativeUnavailableReason();
}

/** The layout that all processes of a graph share, as plain data. */
export interface GraphMap {
  /** The memory directory of the session. */
  readonly directory: string;
  /** Unique in it, and no beginning of another; the names of all files begin with it. */
  readonly name: string;
  /** Processes; the first is the one that compiled the graph. */
  readonly endpoints: number;
  readonly channels: readonly { readonly writer: number; readonly readers: readonly number[]; readonly capacityBytes: number }[];
}

const CLOSED_WORD = 0;
/** Words within the line of an endpoint. */
const SLEEPS = 0;
const JOINED = 1;
/** How a process sleeps. */
const AWAKE = 0;
const IN_EVENT_LOOP = 1;
const BLOCKED = 2;
const ZEROS_BYTES = 1 << 20;

function fileOf(map: GraphMap): string {
  return `${map.directory}/${map.name}`;
}

function doorbellOf(map: GraphMap, endpoint: number): string {
  return `${map.directory}/${map.name}-bell-${endpoint}`;
}

/** The file of a value that no ring has room for. */
export function valueFileOf(map: GraphMap, channel: number, number: number): string {
  return `${map.directory}/${map.name}-value-${channel}-${number}`;
}

function placesOf(map: GraphMap): ReturnType<typeof placeChannels> {
  return placeChannels(
    map.channels.map(({ readers, capacityBytes }) => ({ readers: readers.length, capacityBytes })),
    LINE_WORDS * (1 + map.endpoints),
  );
}

/** Makes the files of a graph. @throws ENOSPC where there is no room */
export function createGraphFiles(map: GraphMap): void {
  const memory = sharedMemory();
  if (memory === undefined) throw new Error("Cannot make channels: there is no native part");
  const { sizeBytes } = placesOf(map);
  const file = storeFiles.create(fileOf(map));
  try {
    // Written, and not just made long: a hole that cannot be filled later, on a full file system, would end the process that touches it.
    const zeros = new Uint8Array(Math.min(sizeBytes, ZEROS_BYTES));
    for (let at = 0; at < sizeBytes; at += zeros.length) file.write(at, [zeros.subarray(0, Math.min(zeros.length, sizeBytes - at))]);
  } finally {
    file.close();
  }
  for (let endpoint = 0; endpoint < map.endpoints; endpoint += 1) memory.makeFifo(doorbellOf(map, endpoint));
}

/** Removes what of the graph's files is there. */
export function removeGraphFiles(map: GraphMap): void {
  removeFilesNamed(map.directory, map.name);
}

export class GraphMemory implements ChannelMemory {
  readonly words: Int32Array<ArrayBuffer>;
  readonly bytes: Uint8Array;
  readonly places: readonly ChannelPlace[];
  /** How many share it. */
  readonly processes: number;
  /**
   * Whether doorbells wait for `flushRings`. A reader that is woken for each of many values may run in place of their writer and take them one at a time:
   * measured, that was half of the time of both.
   */
  holdsRings = false;
  readonly #held: number[] = [];
  readonly #self: number;
  readonly #memory = sharedMemory() as SharedMemory;
  readonly #bells: (Doorbell | undefined)[];
  readonly #listener: DoorbellListener;

  /** @throws Error with a `code` when a file is gone or cannot be mapped */
  constructor(map: GraphMap, self: number, onRing: () => void) {
    const { places, sizeBytes } = placesOf(map);
    const file = openToShare(fileOf(map));
    let buffer: ArrayBuffer;
    try {
      buffer = this.#memory.map({ fd: file.fd, offset: 0, sizeBytes, mode: "shared" });
    } finally {
      file.close();
    }
    this.words = new Int32Array(buffer);
    this.bytes = new Uint8Array(buffer);
    this.places = places;
    this.processes = map.endpoints;
    this.#self = self;
    this.#bells = Array.from({ length: map.endpoints }, (_item, endpoint) =>
      endpoint === self ? undefined : openDoorbell(doorbellOf(map, endpoint)),
    );
    this.#listener = listenDoorbell(doorbellOf(map, self), onRing);
  }

  /** Confirms that this process has opened all files, so that their names can go. */
  join(): void {
    Atomics.store(this.words, this.#word(this.#self, JOINED), 1);
    this.ring(0);
  }

  hasJoined(endpoint: number): boolean {
    return Atomics.load(this.words, this.#word(endpoint, JOINED)) === 1;
  }

  get isClosed(): boolean {
    return Atomics.load(this.words, CLOSED_WORD) === 1;
  }

  /** The end of the graph, for all its processes. */
  markClosed(): void {
    Atomics.store(this.words, CLOSED_WORD, 1);
    this.holdsRings = false;
    this.flushRings();
    for (const endpoint of this.#bells.keys()) this.ring(endpoint);
  }

  /** Wakes a process if it sleeps; with `holdsRings`, at the next `flushRings`. */
  ring(endpoint: number): void {
    const word = this.#word(endpoint, SLEEPS);
    const state = Atomics.load(this.words, word);
    if (state === AWAKE) return;
    if (this.holdsRings && !this.#held.includes(endpoint)) this.#held.push(endpoint);
    if (!this.holdsRings) this.#wake(endpoint, word, state);
  }

  get hasHeldRings(): boolean {
    return this.#held.length > 0;
  }

  flushRings(): void {
    for (let endpoint = this.#held.pop(); endpoint !== undefined; endpoint = this.#held.pop()) {
      const word = this.#word(endpoint, SLEEPS);
      this.#wake(endpoint, word, Atomics.load(this.words, word));
    }
  }

  #wake(endpoint: number, word: number, state: number): void {
    if (state === AWAKE || Atomics.compareExchange(this.words, word, state, AWAKE) !== state) return;
    if (state === BLOCKED) this.#memory.wakeWord(this.words.buffer, word);
    else this.#bells[endpoint]?.ring();
  }

  /** Announces sleep: publishers ring from now on. The caller then looks once more for earlier values. */
  beginSleep(): void {
    Atomics.store(this.words, this.#word(this.#self, SLEEPS), IN_EVENT_LOOP);
  }

  endSleep(): void {
    Atomics.store(this.words, this.#word(this.#self, SLEEPS), AWAKE);
  }

  /** Blocks this process until it is rung or the time is over. @returns whether the condition holds */
  block(timeoutUs: number, condition: () => boolean): boolean {
    const word = this.#word(this.#self, SLEEPS);
    Atomics.store(this.words, word, BLOCKED);
    if (!condition()) this.#memory.waitOnWord(this.words.buffer, word, { expected: BLOCKED, timeoutUs });
    Atomics.store(this.words, word, AWAKE);
    return condition();
  }

  offerProcessor(): void {
    this.#memory.yieldProcessor();
  }

  setKeepsProcessAlive(keeps: boolean): void {
    this.#listener.setKeepsProcessAlive(keeps);
  }

  /** The mapping goes with the last reader or writer that uses it. */
  close(): void {
    this.#listener.close();
    for (const bell of this.#bells) bell?.close();
  }

  #word(endpoint: number, word: number): number {
    return LINE_WORDS * (1 + endpoint) + word;
  }
}
