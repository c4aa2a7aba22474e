/** The limits of the link between algorithms and external environments, each with its reason. */

/** The header of a frame: names, shapes and a space of some hundred parts. */
export const HEADER_BYTES_MAX = 1_048_576;

/** A frame of a client that has not said hello: a version, a name and a token. */
export const HELLO_BYTES_MAX = 65_536;

/** The header of an answer with weights: three numbers and a name. */
export const STATE_HEADER_BYTES_MAX = 4096;

/** Arrays of one frame: the parts of an observation and four columns. */
export const ARRAYS_MAX = 256;

/** Dimensions of one array. NumPy has 64; pictures of several environments have five. */
export const DIMENSIONS_MAX = 8;

/** The default of `maxFrameBytes`: the weights of a network with four million parameters. */
export const FRAME_BYTES_MAX = 16_777_216;

/** The default of `maxClients`. Each may have a frame under way. */
export const CLIENTS_MAX = 64;

/** Connections that have not said hello. They may be anybody's. */
export const STRANGERS_MAX = 16;

/** For a client to say hello. */
export const GREETING_WITHIN_MS = 10_000;

/** The default of `idleTimeoutMs`. A game in a hidden page stands still and joins again later. */
export const IDLE_MS = 60_000;

/** Steps of one EPISODES message. A client with more sends several. */
export const CHUNK_STEPS_MAX = 65_536;

/** Steps that a client plays before it sends them, by default: a fraction of a batch, and many times the cost of a message. */
export const CHUNK_STEPS = 200;

/** Versions by which the weights of a client's steps may lag behind, by default. Older steps say little about the policy of today. */
export const WEIGHTS_LAG_MAX = 4;

/** Between two attempts of a client to connect again. */
export const RECONNECT_EVERY_MS = 250;

/** The default of `reconnectWithinMs`: an algorithm that restarts on a busy machine is back by then. */
export const RECONNECT_WITHIN_MS = 60_000;

/** The default of a client's `timeoutMs`. An answer may wait for an update of the learner. */
export const ANSWER_WITHIN_MS = 600_000;

/** For a closing connection to send its last frame. */
export const CLOSE_WITHIN_MS = 2000;

/** Letters of a text that a message shows of a stranger's. */
export const SHOWN_TEXT_MAX = 200;
