/** The messages of the link: version, names, and the fields that both sides read. */
import type { Exploration } from "../distributions/action-distribution.ts";
import type { ActionOptions } from "../distributions/choose-distribution.ts";
import type { ModelConfig } from "../modules/model-config.ts";
import type { SpaceJson } from "../spaces/space.ts";

/** The version of the format. Both sides have to have the same. */
export const LINK_VERSION = 1;

/** Where actions are chosen: in the client, on a copy of the network, or by the server. */
export type Inference = "client" | "server";

/** Requests of clients. */
export const REQUESTS = [
  "HELLO",
  "PING",
  "GET_CONFIG",
  "GET_STATE",
  "EPISODES",
  "EPISODES_AND_GET_STATE",
  "GET_ACTION",
  "END_EPISODE",
] as const;
export type Request = (typeof REQUESTS)[number];

/** Causes of refusals. */
export type RefusalCode = "VERSION" | "TOKEN" | "FULL" | "FRAME" | "ORDER" | "IDLE" | "CLOSING";

/** The network that clients copy. */
export interface NetworkConfig extends ActionOptions {
  readonly modelConfig: ModelConfig;
  /** Names and sizes of the weights, in their order. */
  readonly parameters: readonly { readonly name: string; readonly shape: readonly number[] }[];
}

/** The answer to GET_CONFIG. */
export interface LinkConfig {
  readonly observationSpace: SpaceJson;
  readonly actionSpace: SpaceJson;
  readonly inference: Inference;
  /** Steps of a message of the client. */
  readonly chunkSteps: number;
  readonly maxFrameBytes: number;
  /** With `inference: "client"`. */
  readonly network?: NetworkConfig | undefined;
}

/** The fields of the answer to GET_STATE. The array `weights` is there where the client's are older. */
export interface StateFields {
  readonly version: number;
  readonly explore: boolean;
  readonly exploration: Exploration;
}
