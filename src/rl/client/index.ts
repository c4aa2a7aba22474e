/**
 * `shoal/rl-client`: the client of external environments, for browsers and Node.
 *
 * Imports nothing of Node. The policy runs on `shoal/tensor`.
 */
export { LinkClosedError, LinkRefusedError } from "./client-errors.ts";
export { type ClientOptions, ExternalClient, type PlayedEpisode, type PlayedStep, type PlayOptions } from "./external-client.ts";
export type { Env, ResetOptions, ResetResult, StepResult } from "../environments/env.ts";
export { Box, type BoxOptions } from "../spaces/box.ts";
export { Dict, Tuple } from "../spaces/composite.ts";
export { Discrete } from "../spaces/discrete.ts";
export { MultiBinary } from "../spaces/multi-binary.ts";
export { MultiDiscrete } from "../spaces/multi-discrete.ts";
export { type Space, type SpaceJson } from "../spaces/space.ts";
