/**
 * Measures the value codec alone: `node bench/micro/value-codec.ts` prints nanoseconds for encoding and decoding typical values, in 5 s.
 *
 * The best of several rounds is printed, as other programs on the machine only ever add time. The bars are for a 2-core virtual machine of 2024.
 */
import { decodeValue } from "../../src/runtime/wire/value/decode.ts";
import { encodeValue } from "../../src/runtime/wire/value/encode.ts";

const ROUNDS = 5;
const ROUND_MS = 40;
const hooks = { reduce: (): undefined => undefined, revive: (_: number, payload: unknown): unknown => payload };

interface Case {
  name: string;
  value: unknown;
  /** Limit for encoding and decoding together. */
  atMostNs?: number;
  /** Limit for encoding. */
  encodeAtMostNs?: number;
}

function row(index: number): object {
  return {
    id: index,
    name: `user ${index}`,
    active: true,
    score: 3.25,
    tags: ["a"],
    email: "someone@example.org",
    age: 33,
    city: "Paris",
    zip: "75001",
    note: null,
  };
}

const CASES: Case[] = [
  { name: "small number", value: 300, encodeAtMostNs: 60 },
  { name: "20 characters", value: "abcdefghijklmnopqrst" },
  { name: '[1, "a", { x: 1 }]', value: [1, "a", { x: 1 }], atMostNs: 350 },
  { name: "10 fields", value: row(7), atMostNs: 2000 },
  { name: "1,000 rows of 10 fields", value: Array.from({ length: 1000 }, (_, index) => row(index)) },
  { name: "1,000 integers", value: Array.from({ length: 1000 }, (_, index) => index * 7) },
  { name: "1,000 fractions", value: Array.from({ length: 1000 }, (_, index) => index * 7.1) },
  { name: "1,000 entries of a Map", value: new Map(Array.from({ length: 1000 }, (_, index) => [`key ${index}`, index])) },
  { name: "error", value: new RangeError("it is too large") },
  { name: "100 bytes", value: new Uint8Array(100) },
  { name: "8 MB, out of band", value: new Float64Array(1_000_000) },
];

let sink: unknown;

/** Nanoseconds a call, in the best round. */
function measure(call: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  let count = 1;
  for (let round = 0; round < ROUNDS; ) {
    const start = performance.now();
    for (let index = 0; index < count; index += 1) sink = call();
    const elapsedMs = performance.now() - start;
    if (elapsedMs < ROUND_MS / 2) {
      count *= 2;
      continue;
    }
    best = Math.min(best, (elapsedMs * 1e6) / count);
    round += 1;
  }
  return best;
}

/** All functions run before any is measured: what V8 learns from one kind of value it must not forget at the next. */
function warmUp(): void {
  for (const { value } of CASES) {
    for (let index = 0; index < 20; index += 1) {
      const { bytes, start, end, buffers } = encodeValue(value, hooks);
      sink = decodeValue(bytes.subarray(start, end), buffers, hooks);
    }
  }
}

warmUp();
console.log(`${"value".padEnd(26)}${"encode ns".padStart(12)}${"decode ns".padStart(12)}${"bytes".padStart(9)}`);
for (const { name, value, atMostNs, encodeAtMostNs } of CASES) {
  const encodeNs = measure(() => encodeValue(value, hooks));
  const encoded = encodeValue(value, hooks);
  const bytes = Buffer.from(encoded.bytes.subarray(encoded.start, encoded.end));
  const { buffers } = encoded;
  const decodeNs = measure(() => decodeValue(bytes, buffers, hooks));
  const figures = [encodeNs, decodeNs].map((ns) => ns.toFixed(0).padStart(12)).join("");
  const bars: string[] = [];
  if (atMostNs !== undefined) bars.push(`together at most ${atMostNs}: ${encodeNs + decodeNs <= atMostNs ? "met" : "missed"}`);
  if (encodeAtMostNs !== undefined) bars.push(`encoding at most ${encodeAtMostNs}: ${encodeNs <= encodeAtMostNs ? "met" : "missed"}`);
  console.log(`${name.padEnd(26)}${figures}${String(bytes.length).padStart(9)}  ${bars.join(", ")}`);
}
if (sink === undefined) console.log("nothing was measured");
