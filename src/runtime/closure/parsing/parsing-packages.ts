/**
 * Loads the packages that read code and source maps on first use. A worker that only runs code it can import never needs them.
 *
 * Uses `require` and not `import`, as the callers cannot wait. Called by `syntax`, `positions` and `script-table`.
 */
import { createRequire } from "node:module";
import { PACKAGE_URL } from "../../os/own-files.ts";
import type * as sourcemapCodec from "@jridgewell/sourcemap-codec";
import type * as acorn from "acorn";

const require = createRequire(PACKAGE_URL);

export function parserPackage(): typeof acorn {
  return require("acorn") as typeof acorn;
}

export function sourceMapPackage(): typeof sourcemapCodec {
  return require("@jridgewell/sourcemap-codec") as typeof sourcemapCodec;
}
