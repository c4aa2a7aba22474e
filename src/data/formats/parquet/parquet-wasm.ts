/** Loads parquet-wasm, which decodes and encodes Parquet: 5 MB of WebAssembly that most tasks use for less than a second. */
import { loadPatiently } from "../../../core/internal.ts";

let loaded: Promise<typeof import("parquet-wasm")> | undefined;

export function parquetWasm(): Promise<typeof import("parquet-wasm")> {
  loaded ??= loadPatiently(() => import("parquet-wasm"));
  return loaded;
}
