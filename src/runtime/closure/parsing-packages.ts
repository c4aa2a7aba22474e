/**
 * The packages that read code and source maps, loaded when there is something to read: a worker that runs what it can import never needs them.
 *
 * `require` and not `import`, as whoever needs them cannot wait. Called by `syntax`, `positions` and `script-table`.
 */
import { createRequire } from "node:module";
import { PACKAGE_URL } from "../os/own-files.ts";
import type * as sourcemapCodec from "@jridgewell/sourcemap-codec";
import type * as acorn from "acorn";

const require = createRequire(PACKAGE_URL);

export function parserPackage(): typeof acorn {
  return require("acorn") as typeof acorn;
}

export function sourceMapPackage(): typeof sourcemapCodec {
  return require("@jridgewell/sourcemap-codec") as typeof sourcemapCodec;
}
