/**
 * Measures the first and the later definitions of one place in the source: `node bench/micro/definitions.ts [definitions]`, from the sources.
 *
 * Prints the milliseconds of capturing (in the program) and of reviving with one call (in a worker), and the bytes between them.
 */
import { captureDefinition } from "../../src/runtime/closure/capture.ts";
import { type ReviveContext, reviveDefinition } from "../../src/runtime/closure/revive.ts";
import type { EncodeHooks } from "../../src/runtime/wire/value/encode.ts";

const HOOKS: EncodeHooks = { reduce: () => undefined };
const CONTEXT: ReviveContext = {
  hooks: { revive: (kind) => `form ${kind}` },
  definition: (id) => Promise.reject(new Error(`unknown definition ${id}`)),
};

const factor = 3;
const scaled = (value: number): number => value * factor;

/** The place: ten lines that use a captured value, a function and a constant of the file. */
function makeFunction(body: string): (count: number) => { total: number; parts: string } {
  return (count) => {
    let total = 0;
    const seen = new Map<string, number>();
    for (let index = 0; index < count; index += 1) {
      const key = String(index % 7);
      seen.set(key, (seen.get(key) ?? 0) + scaled(index));
      if (index % 3 === 0) total += body.length;
    }
    const parts = [...seen].map(([key, value]) => `${key}:${value}`).join();
    return { total, parts };
  };
}

interface Cost {
  captureMs: number;
  reviveMs: number;
  bytes: number;
}

async function costOf(fn: (count: number) => unknown): Promise<Cost> {
  const startMs = performance.now();
  const { bytes, buffers, sizeBytes } = captureDefinition(fn, HOOKS);
  const capturedMs = performance.now();
  const revived = (await reviveDefinition(bytes, buffers, CONTEXT)) as typeof fn;
  revived(3);
  return { captureMs: capturedMs - startMs, reviveMs: performance.now() - capturedMs, bytes: sizeBytes };
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const count = Number(process.argv[2] ?? 500);
// The inspector and the parser are loaded once in a process, for any capture.
await costOf(() => 1);
const first = await costOf(makeFunction("body 0"));
const later: Cost[] = [];
for (let number = 1; number <= count; number += 1) later.push(await costOf(makeFunction(`body ${number}`)));
const of = (name: keyof Cost): number => median(later.map((cost) => cost[name]));
console.log(`first:  capture ${first.captureMs.toFixed(2)} ms, revive ${first.reviveMs.toFixed(2)} ms, ${first.bytes} bytes`);
console.log(`later:  capture ${of("captureMs").toFixed(2)} ms, revive ${of("reviveMs").toFixed(2)} ms, ${of("bytes")} bytes`);
