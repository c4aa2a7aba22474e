/**
 * External environments: simulators that run elsewhere and join over the network, as configurations name them.
 *
 * A source is data, which is checked here.
 * The runner listens, and clients connect to it: games in pages, robots, engines. `docs/rl-link.md` has the format.
 */
import { callable, count, custom, describeValue, milliseconds, oneOf, readOptions, text, texts } from "../../core/internal.ts";
import { CHUNK_STEPS, CHUNK_STEPS_MAX, CLIENTS_MAX, FRAME_BYTES_MAX, IDLE_MS, WEIGHTS_LAG_MAX } from "../link/limits.ts";
import type { Inference } from "../link/messages.ts";
import { SpaceArrays } from "../link/space-arrays.ts";
import { Space, type SpaceJson } from "../spaces/space.ts";

/** Where a runner listens. */
export interface ExternalAddress {
  readonly host: string;
  readonly port: number;
  /** As clients take it: `ws://127.0.0.1:7000` or `tcp://127.0.0.1:7000`. */
  readonly url: string;
}

export interface ExternalEnvOptions {
  readonly observationSpace: Space;
  /** `Discrete`, `MultiDiscrete` or `Box`. */
  readonly actionSpace: Space;
  /** The port of the algorithm's process. Runners in processes of their own have this port and those after it. 0 (default) takes any free one; `onListening` says which. */
  readonly port?: number | undefined;
  /** Default: `"127.0.0.1"`. Another address needs a token. */
  readonly host?: string | undefined;
  /** Default: `"websocket"`. */
  readonly transport?: "websocket" | "tcp" | undefined;
  /** Where actions are chosen: by the client on a copy of the network (default), or by the server, which the client asks for each. */
  readonly inference?: Inference | undefined;
  /** Clients have to know it. From 16 to 1,024 characters. */
  readonly token?: string | undefined;
  /** Origins of pages that may connect without a token, beside those of this machine: `["https://game.example"]`. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Connections at a time. A further client is refused. Default: 64. */
  readonly maxClients?: number | undefined;
  /** Default: 16 MiB. */
  readonly maxFrameBytes?: number | undefined;
  /** Steps of a message of clients. Default: 200. */
  readonly chunkSteps?: number | undefined;
  /** Steps that were played with weights of more versions ago are dropped. Default: 4. */
  readonly maxWeightsLag?: number | undefined;
  /** A client that is silent for so long is cut off. Default: 60,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Called where the runner is, once it listens. */
  readonly onListening?: ((address: ExternalAddress) => void) | undefined;
}

/** An external environment as it travels to runners. */
export interface ExternalSpec {
  readonly spaces: { readonly observation: SpaceJson; readonly action: SpaceJson };
  readonly port: number;
  readonly host: string;
  readonly transport: "websocket" | "tcp";
  readonly inference: Inference;
  readonly token: string | undefined;
  readonly allowedOrigins: readonly string[];
  readonly maxClients: number;
  readonly maxFrameBytes: number;
  readonly chunkSteps: number;
  readonly maxWeightsLag: number;
  readonly idleTimeoutMs: number;
  readonly onListening: ((address: ExternalAddress) => void) | undefined;
}

const PORT_MAX = 65_535;
const TOKEN_LENGTH_MIN = 16;
const TOKEN_LENGTH_MAX = 1024;
const FRAME_BYTES_MIN = 65_536;
const FRAME_BYTES_LARGEST = 1_073_741_824;

const space = custom<Space | undefined>("a space such as new Discrete(2) is needed", undefined, (value) =>
  value instanceof Space ? "ok" : "wrong type",
);

const OPTIONS = {
  of: "externalEnv()",
  options: {
    observationSpace: space,
    actionSpace: space,
    port: count({ min: 0, max: PORT_MAX }, 0),
    host: text("127.0.0.1"),
    transport: oneOf(["websocket", "tcp"], "websocket"),
    inference: oneOf(["client", "server"], "client"),
    token: custom<string | undefined>(`a text of ${TOKEN_LENGTH_MIN} to ${TOKEN_LENGTH_MAX} characters is needed`, undefined, (value) =>
      typeof value !== "string"
        ? "wrong type"
        : value.length >= TOKEN_LENGTH_MIN && value.length <= TOKEN_LENGTH_MAX
          ? "ok"
          : "out of range",
    ),
    allowedOrigins: texts('a list such as ["https://game.example"] is needed', []),
    maxClients: count({ min: 1, max: 4096 }, CLIENTS_MAX),
    maxFrameBytes: count({ min: FRAME_BYTES_MIN, max: FRAME_BYTES_LARGEST }, FRAME_BYTES_MAX),
    chunkSteps: count({ min: 1, max: CHUNK_STEPS_MAX }, CHUNK_STEPS),
    maxWeightsLag: count({ min: 0 }, WEIGHTS_LAG_MAX),
    idleTimeoutMs: milliseconds(IDLE_MS),
    onListening: callable<(address: ExternalAddress) => void>("a function is needed"),
  },
};

/** An external environment. Made by `externalEnv`. */
export class ExternalSource {
  readonly name = "an external environment";
  readonly external: ExternalSpec;

  constructor(external: ExternalSpec) {
    this.external = external;
  }
}

/**
 * An environment that runs elsewhere and connects to the algorithm, for `.environment()`.
 *
 * @example
 * const env = externalEnv({ observationSpace: new Box({ low: -1, high: 1, shape: [8] }), actionSpace: new Discrete(4), port: 7000 });
 * const config = new PPOConfig().environment(env);
 * @throws TypeError, RangeError for options that make no sense, and for an address beyond this machine without a token
 */
export function externalEnv(options: ExternalEnvOptions): ExternalSource {
  const { observationSpace, actionSpace, ...others } = readOptions(options, OPTIONS);
  for (const [name, given] of Object.entries({ observationSpace, actionSpace }))
    if (given === undefined)
      throw new TypeError(
        `Cannot use an external environment: ${name} is needed, a space such as new Discrete(2): received ${describeValue(options)}`,
      );
  // Texts have no array, which is an error here instead of in the runner.
  const { rowBytes } = new SpaceArrays(observationSpace as Space, "observationSpace");
  void new SpaceArrays(actionSpace as Space, "actionSpace");
  const { chunkSteps, maxFrameBytes, inference } = others;
  // Each step may be a whole episode, with a last observation besides.
  const frameBytes = 2 * rowBytes * (inference === "client" ? chunkSteps : 1);
  if (frameBytes > maxFrameBytes)
    throw new RangeError(
      `Cannot use an external environment: a message of ${chunkSteps} steps may have ${frameBytes} bytes, and maxFrameBytes is ${maxFrameBytes}. Raise maxFrameBytes, or lower chunkSteps`,
    );
  if (others.token === undefined && !isLoopback(others.host))
    throw new TypeError(
      `Cannot listen on ${others.host}: an address beyond this machine needs a token, which clients have to know. Set token to a random text of ${TOKEN_LENGTH_MIN} characters or more`,
    );
  const spaces = { observation: (observationSpace as Space).toJSON(), action: (actionSpace as Space).toJSON() };
  return new ExternalSource({ ...others, spaces });
}

/** Whether only this machine can connect to an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
