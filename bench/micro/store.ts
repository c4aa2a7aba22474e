/**
 * The object store by itself, without processes or messages: `node bench/micro/store.ts`, about 5 seconds.
 *
 * Measures objects of 100 MB and small ones. Prints the rate of a put, into fresh and into recycled pages, with untouched zeros and with
 * real data. Prints also the time of a get, the bytes that it copies, and the cost of a small put and get. Run it with `SHOAL_NATIVE=0` for
 * the figures without the native part. Removes everything that it made.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ArenaReader } from "../../src/runtime/objects/arenas/arena-reader.ts";
import { ArenaWriter } from "../../src/runtime/objects/arenas/arena-writer.ts";
import type { ObjectLocation } from "../../src/runtime/objects/arenas/layout.ts";
import { memoryRoot } from "../../src/runtime/os/files/sessions/session-sweep.ts";
import { nativeUnavailableReason } from "../../src/runtime/os/shared-memory.ts";

const MEGABYTE = 1_048_576;
const LARGE_BYTES = 100 * MEGABYTE;
const ROUNDS = 7;

const directory = mkdtempSync(join(memoryRoot(), "shoal-bench-"));
const options = { memoryDirectory: directory, spillDirectory: directory };
const writer = new ArenaWriter({ ...options, processTag: "bench", quota: { freeBytes: () => Number.POSITIVE_INFINITY } });
const reader = new ArenaReader(options);
const inBand = Buffer.from("the in-band bytes of a value");

interface Times {
  medianMs: number;
  /** Cost when no other program is in the way. */
  bestMs: number;
}

async function measure(run: () => void, after: () => void = () => {}): Promise<Times> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    run();
    times.push(performance.now() - start);
    after();
    // Mappings that ended are unmapped between two turns.
    await nextTurn();
  }
  times.sort((left, right) => left - right);
  return { medianMs: times[times.length >> 1] as number, bestMs: times[0] as number };
}

function print(name: string, median: number, best: number, unit: string): void {
  const column = (value: number): string => value.toFixed(value < 10 ? 2 : 1).padStart(9);
  console.log(`${name.padEnd(40)}${column(median)}${column(best)}  ${unit}`);
}

async function measurePut(name: string, data: Uint8Array): Promise<void> {
  const locations: ObjectLocation[] = [];
  const put = (): void => void locations.push(writer.write(inBand, [data]));
  const freeAll = (): void => {
    for (const location of locations.splice(0)) writer.free(location);
  };
  const printRate = (pages: string, { medianMs, bestMs }: Times): void =>
    print(`put 100 MB, ${pages} pages, ${name}`, LARGE_BYTES / 1e6 / medianMs, LARGE_BYTES / 1e6 / bestMs, "GB/s");
  writer.trim(Number.POSITIVE_INFINITY);
  const fresh = await measure(put, () => {
    freeAll();
    writer.trim(Number.POSITIVE_INFINITY);
  });
  printRate("fresh", fresh);
  put();
  freeAll();
  printRate("recycled", await measure(put, freeAll));
}

async function measureGet(): Promise<void> {
  const location = writer.write(inBand, [new Uint8Array(LARGE_BYTES).fill(7)]);
  let sum = 0;
  const before = reader.counters.copiedBytes;
  const { medianMs, bestMs } = await measure(() => {
    sum += reader.read(location, 1).buffers[0]?.[LARGE_BYTES - 1] ?? 0;
  });
  print("get 100 MB, last byte read", medianMs, bestMs, "ms");
  const copiedMegabytes = (reader.counters.copiedBytes - before) / ROUNDS / MEGABYTE;
  print("  of which copied", copiedMegabytes, copiedMegabytes, "MB");
  if (sum !== 7 * ROUNDS) throw new Error("wrong bytes");
}

async function measureSmall(length: number): Promise<void> {
  const data = new Uint8Array(length).fill(1);
  const count = Math.min(2000, Math.floor((500 * MEGABYTE) / length));
  const locations: ObjectLocation[] = [];
  const freeAll = (): void => {
    for (const location of locations.splice(0)) writer.free(location);
  };
  const printEach = (name: string, { medianMs, bestMs }: Times): void =>
    print(name, (medianMs * 1000) / count, (bestMs * 1000) / count, "us");
  const put = await measure(() => {
    for (let index = 0; index < count; index += 1) locations.push(writer.write(inBand, [data]));
  }, freeAll);
  printEach(`put ${length} bytes`, put);
  const location = writer.write(inBand, [data]);
  const get = await measure(() => {
    for (let index = 0; index < count; index += 1) reader.read(location, 1);
  });
  printEach(`get ${length} bytes`, get);
  writer.free(location);
}

try {
  console.log(`${"".padEnd(40)}${"median".padStart(9)}${"best".padStart(9)}`);
  console.log(`native part: ${nativeUnavailableReason() ?? "yes"}`);
  await measurePut("zeros", new Uint8Array(LARGE_BYTES));
  await measurePut("data", new Uint8Array(LARGE_BYTES).fill(7));
  await measureGet();
  await measureSmall(1000);
  await measureSmall(100_000);
  await measureSmall(MEGABYTE);
} finally {
  writer.close();
  reader.close();
  rmSync(directory, { recursive: true });
}
