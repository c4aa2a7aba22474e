/**
 * `shoal/internal`: the door of the core for libraries of exactly this version. It makes no promise between versions.
 *
 * It begins with `shoal` itself, so a library finds the runtime complete, and both subpaths share their modules.
 */
import "./index.ts";

export * from "./core/internal.ts";
