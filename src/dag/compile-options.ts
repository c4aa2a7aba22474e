/** The options of `compile`: validation and defaults. */
import type { CompileOptions } from "../core/index.ts";
import { count, milliseconds, type OptionSet } from "../core/internal.ts";

export type ResolvedCompileOptions = { readonly [K in keyof Required<CompileOptions>]: number };

export const COMPILE: OptionSet<ResolvedCompileOptions> = {
  of: "a compiled graph",
  otherNames: {
    _buffer_size_bytes: "it is bufferSizeBytes",
    _max_inflight_executions: "it is maxInflightExecutions",
    _submit_timeout: "it is submitTimeoutMs, in milliseconds",
    _max_buffered_results: "results are kept as long as somebody holds their reference",
    enable_asyncio: "execute never blocks; executeAsync waits for room",
  },
  options: {
    // Positions in a ring are 32 bits wide, and a ring has twice the room.
    bufferSizeBytes: count({ min: 1, max: 2 ** 29 }, 1024 * 1024),
    // Ray's default of 10 makes a program fail that begins a batch and then awaits it. A running execution costs a few hundred bytes here.
    maxInflightExecutions: count({ min: 1, max: 1_000_000 }, 1000),
    submitTimeoutMs: milliseconds(10_000),
  },
};
