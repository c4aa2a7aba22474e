/**
 * `shoal/runs`: what Train, Tune and RL share. It is a subpath so that workers find checkpoints' code by name without loading one of those libraries; users get the same from
 * `shoal/train` and `shoal/tune`, and this one makes no promise between versions.
 */
import "./well-known-exports.ts";

export { Checkpoint } from "./checkpoint.ts";
export { RunError } from "./errors.ts";
export { Result } from "./result.ts";
