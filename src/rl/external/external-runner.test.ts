/** Runners with real clients on loopback: samples are true, and a faulty client gets the cause while the others are served. */
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocket as Peer } from "ws";
import { ExternalClient } from "../client/external-client.ts";
import { LinkRefusedError } from "../client/client-errors.ts";
import type { Env } from "../environments/env.ts";
import { decodeFrame, encodeFrame, FrameReader, type LinkMessage } from "../link/frames.ts";
import { DEFAULT_MODULE_ID } from "../modules/policy-mapping.ts";
import type { BuiltModule, ModuleSpec } from "../modules/module-spec.ts";
import type { RunnerSpec, Sample } from "../runners/env-runner.ts";
import { makeRunner } from "../runners/make-runner.ts";
import { Box } from "../spaces/box.ts";
import { Dict } from "../spaces/composite.ts";
import { Discrete } from "../spaces/discrete.ts";
import { externalEnv, type ExternalEnvOptions } from "./external-source.ts";
import type { ExternalRunner } from "./external-runner.ts";

const TOKEN = "a token that only friends know";
const SPACES = { observationSpace: new Box({ low: 0, high: 100, shape: [1] }), actionSpace: new Discrete(2) };

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function listening(
  options: Partial<ExternalEnvOptions> = {},
  module: Partial<ModuleSpec> = {},
): Promise<{ runner: ExternalRunner; url: string; port: number }> {
  const address = Promise.withResolvers<{ url: string; port: number }>();
  const { name, external } = externalEnv({ ...SPACES, transport: "tcp", onListening: address.resolve, ...options });
  const runner = makeRunner({
    env: { name, envClass: undefined, maxEpisodeSteps: undefined, external },
    envConfig: {},
    numEnvs: 1,
    workerIndex: 0,
    firstEnv: 0,
    seed: 1,
    isChecked: true,
    module: { moduleClass: undefined, modelConfig: { fcnetHiddens: [4] }, normalizeActions: true, clipActions: false, ...module },
  } satisfies RunnerSpec) as ExternalRunner;
  opened.push(runner);
  await runner.ready();
  return { runner, ...(await address.promise) };
}

async function sampled(runner: ExternalRunner, steps: number): Promise<Sample> {
  runner.setWeights({ [DEFAULT_MODULE_ID]: weightsOf(runner) });
  return await runner.sample({ steps, explore: true });
}

function weightsOf(runner: ExternalRunner): Float32Array {
  return (runner.modules.get(DEFAULT_MODULE_ID) as BuiltModule).module.parameters.data;
}

async function client(url: string, options = {}): Promise<ExternalClient> {
  const made = await ExternalClient.connect(url, options);
  opened.push(made);
  return made;
}

/** Counts to four: the observation is the number of the step, and so is the reward. */
class Four implements Env<number[], number> {
  readonly observationSpace: never = SPACES.observationSpace as never;
  readonly actionSpace: Discrete = SPACES.actionSpace;
  #at = 0;

  reset(): { observation: number[] } {
    this.#at = 0;
    return { observation: [0] };
  }

  step(): { observation: number[]; reward: number; terminated: boolean; truncated: boolean } {
    this.#at += 1;
    return { observation: [this.#at], reward: this.#at, terminated: this.#at === 4, truncated: false };
  }
}

/** A program of a stranger: raw bytes out, frames in. */
class Stranger {
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #frames: LinkMessage[] = [];
  readonly ended: Promise<void>;

  constructor(port: number) {
    this.#socket = connect({ host: "127.0.0.1", port });
    this.#socket.on("data", (bytes) => this.#frames.push(...this.#reader.push(bytes, 1e6).map(decodeFrame)));
    this.#socket.on("error", () => {});
    this.ended = new Promise((resolve) => this.#socket.on("close", () => resolve()));
    opened.push({ close: () => this.#socket.destroy() });
  }

  send(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  say(type: string, fields: Record<string, unknown>, arrays: LinkMessage["arrays"] = new Map()): void {
    this.send(encodeFrame({ type, id: 1, fields, arrays }));
  }

  leave(): void {
    this.#socket.end();
  }

  /** The last message before the server closed the connection. */
  async refusal(): Promise<unknown> {
    await this.ended;
    const last = this.#frames.at(-1);
    return last?.type === "ERROR" ? `${String(last.fields["code"])}: ${String(last.fields["message"])}` : last;
  }
}

const SEQUENCES = [0, 4, 1];

test.each(["server", "client"] as const)(
  "episodes of clients are sampled as they were played, with the %s choosing actions",
  async (inference) => {
    const { runner, url } = await listening({ inference, chunkSteps: 8 });
    const player = await client(url);
    expect(player.inference).toBe(inference);
    const playing = player.play(new Four(), { episodes: 2 });
    const { modules, returns, lengths, steps } = await sampled(runner, 8);
    await playing;
    const { fragment } = modules[DEFAULT_MODULE_ID] as Sample["modules"][string];
    expect(steps).toBe(8);
    expect(Array.from(returns)).toEqual([10, 10]);
    expect(Array.from(lengths)).toEqual([4, 4]);
    expect(Array.from(fragment.sequences)).toEqual([...SEQUENCES, 4, 4, 1]);
    expect(Array.from(fragment.obs)).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    expect(Array.from(fragment.rewards)).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    // The log-probability of the drawn action, by the numbers that chose it.
    for (let row = 0; row < 8; row += 1) {
      const [a = 0, b = 0] = fragment.actionDistInputs.subarray(2 * row, 2 * row + 2);
      const chosen = [a, b][fragment.actions[row] as number] as number;
      expect(fragment.actionLogp[row]).toBeCloseTo(chosen - Math.log(Math.exp(a) + Math.exp(b)), 4);
    }
  },
);

test("pieces of one episode continue over messages and samples", async () => {
  const { runner, url } = await listening({ chunkSteps: 3 });
  const player = await client(url);
  const playing = player.play(new Four(), { episodes: 3 });
  const first = await sampled(runner, 3);
  expect(Array.from(first.modules[DEFAULT_MODULE_ID]?.fragment.sequences ?? [])).toEqual([0, 3, 0]);
  expect(first.returns.length).toBe(0);
  const second = await sampled(runner, 9);
  await playing;
  expect(Array.from(second.returns)).toEqual([10, 10, 10]);
  expect(Array.from(second.lengths)).toEqual([4, 4, 4]);
});

const hello = { version: 1, token: TOKEN };
const obs = (value: number): LinkMessage["arrays"] => new Map([["obs", { shape: [1, 1], data: Float32Array.of(value) }]]);

test.each<[string, (stranger: Stranger) => void, string]>([
  [
    "another version",
    (stranger) => stranger.say("HELLO", { ...hello, version: 2 }),
    "VERSION: the server speaks version 1 of the link: received 2",
  ],
  ["no token", (stranger) => stranger.say("HELLO", { version: 1 }), "TOKEN: a token is needed, and HELLO has none"],
  ["a wrong token", (stranger) => stranger.say("HELLO", { version: 1, token: `${TOKEN}!` }), "TOKEN: the token of HELLO is wrong"],
  ["no greeting", (stranger) => stranger.say("GET_CONFIG", {}), 'ORDER: the first message is HELLO: received "GET_CONFIG"'],
  [
    "a greeting of a megabyte",
    (stranger) => stranger.send(Uint8Array.of(0, 0, 16, 0)),
    "FRAME: a frame has 65536 bytes at most: received one of 1048580",
  ],
  [
    "a cut frame",
    (stranger) => (stranger.send(encodeFrame({ type: "HELLO", id: 1, fields: hello }).subarray(0, 20)), stranger.leave()),
    "FRAME: the connection ended in the middle of a frame",
  ],
  [
    "a request for pages",
    (stranger) => stranger.send(Buffer.from("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")),
    "FRAME: a frame has 65536 bytes at most: received one of 542393675",
  ],
  [
    "an unknown request",
    (stranger) => (stranger.say("HELLO", hello), stranger.say("SHUTDOWN", {})),
    "ORDER: a request is one of HELLO, PING",
  ],
  [
    "a request of the other inference",
    (stranger) => (stranger.say("HELLO", hello), stranger.say("GET_STATE", {})),
    "ORDER: the server chooses actions here",
  ],
  [
    "a step before an episode",
    (stranger) => (stranger.say("HELLO", hello), stranger.say("GET_ACTION", { reward: 1 }, obs(1))),
    "ORDER: no episode is under way",
  ],
  [
    "an observation beyond the space",
    (stranger) => (stranger.say("HELLO", hello), stranger.say("GET_ACTION", { begins: true }, obs(101))),
    "FRAME: row 0 of obs does not fit its space: element 0 is a number from 0 to 100: received 101",
  ],
  [
    "an observation that is NaN",
    (stranger) => (stranger.say("HELLO", hello), stranger.say("GET_ACTION", { begins: true }, obs(Number.NaN))),
    "element 0 is a number from 0 to 100: received NaN",
  ],
  [
    "no observation",
    (stranger) => (stranger.say("HELLO", hello), stranger.say("GET_ACTION", { begins: true })),
    'FRAME: the array "obs" is missing',
  ],
])("a client with %s is refused with the cause, and others are served", async (_, misbehave, cause) => {
  const { runner, url, port } = await listening({ inference: "server", token: TOKEN });
  const player = await client(url, { token: TOKEN });
  const sampling = sampled(runner, 8);
  const stranger = new Stranger(port);
  misbehave(stranger);
  expect(await stranger.refusal()).toContain(cause);
  const playing = player.play(new Four(), { episodes: 2 });
  expect(Array.from((await sampling).returns)).toEqual([10, 10]);
  await playing;
});

const column = (data: Float32Array | Float64Array | Int32Array, ...shape: number[]): { shape: number[]; data: typeof data } => ({
  shape: shape.length === 0 ? [data.length] : shape,
  data,
});
const STEPS = {
  obs: column(Float32Array.of(0, 1, 2), 3, 1),
  actions: column(Int32Array.of(0, 1)),
  actionLogp: column(Float32Array.of(-1, -1)),
  actionDistInputs: column(new Float32Array(4), 2, 2),
  rewards: column(Float64Array.of(1, 1)),
  sequences: column(Int32Array.of(2, 1), 1, 2),
};

test.each<[string, Partial<Record<keyof typeof STEPS, unknown>>, string]>([
  [
    "a choice that does not exist",
    { actions: column(Int32Array.of(0, 2)) },
    "an action is a whole number from 0 to 1: received 2 in row 1",
  ],
  ["fewer observations than steps", { obs: column(Float32Array.of(0, 1), 2, 1) }, '"obs" has the shape [3, 1]: received [2, 1]'],
  ["a reward that is infinite", { rewards: column(Float64Array.of(1, Infinity)) }, '"rewards" has finite numbers'],
  ["rewards of another dtype", { rewards: column(Float32Array.of(1, 1)) }, '"rewards" is a Float64Array: received a Float32Array'],
  ["a probability that is NaN", { actionLogp: column(Float32Array.of(-1, Number.NaN)) }, '"actionLogp" has finite numbers'],
  ["a piece of no steps", { sequences: column(Int32Array.of(0, 1), 1, 2) }, "a piece has 1 to 400 steps: received 0"],
  ["a piece of two thousand million steps", { sequences: column(Int32Array.of(2_000_000_000, 1), 1, 2) }, "a piece has 1 to 400 steps"],
  ["an end that does not exist", { sequences: column(Int32Array.of(2, 3), 1, 2) }, "the end of a piece is 0"],
  ["a cut in the middle", { sequences: column(Int32Array.of(1, 0, 1, 1), 2, 2) }, "the end of a piece is 0"],
  ["no sequences", { sequences: column(new Float32Array(2)) }, '"sequences" is an Int32Array'],
])("steps with %s are refused", async (_, changed, cause) => {
  const { runner, port } = await listening();
  const sampling = sampled(runner, 2);
  const arrays = new Map(Object.entries({ ...STEPS, ...changed })) as LinkMessage["arrays"];
  const liar = new Stranger(port);
  liar.say("HELLO", { version: 1 });
  liar.say("EPISODES", { version: 1 }, arrays);
  expect(await liar.refusal()).toContain(cause);
  const honest = new Stranger(port);
  honest.say("HELLO", { version: 1 });
  honest.say("EPISODES", { version: 1 }, new Map(Object.entries(STEPS)));
  expect((await sampling).steps).toBe(2);
});

test("steps with weights of the future are refused, and those of long ago are dropped and counted", async () => {
  const { runner, port } = await listening({ maxWeightsLag: 1 });
  const arrays = new Map(Object.entries(STEPS)) as LinkMessage["arrays"];
  const prophet = new Stranger(port);
  prophet.say("HELLO", { version: 1 });
  prophet.say("EPISODES", { version: 2 }, arrays);
  expect(await prophet.refusal()).toContain("version is that of weights of this server, from 1 to 0: received 2");
  for (let version = 1; version <= 2; version += 1) runner.setWeights({ [DEFAULT_MODULE_ID]: new Float32Array(weightsOf(runner).length) });
  const sampling = sampled(runner, 2);
  const slow = new Stranger(port);
  slow.say("HELLO", { version: 1 });
  for (const version of [1, 1, 2]) slow.say("EPISODES", { version }, arrays);
  const { steps, logged } = await sampling;
  expect(steps).toBe(2);
  expect(logged).toEqual([{ name: "numStaleStepsDropped", options: { reduce: "sum" }, values: [4] }]);
});

test("a client that leaves in the middle of an episode takes its last step along, and its place is free again", async () => {
  const { runner, url } = await listening({ inference: "server", maxClients: 1 });
  const sampling = sampled(runner, 6);
  const first = await client(url);
  await first.startEpisode([0]);
  await first.step([1], 1);
  await first.step([2], 2);
  first.close();
  const second = await retried(() => client(url));
  await second.play(new Four(), { episodes: 1 });
  const { modules, returns } = await sampling;
  const { fragment } = modules[DEFAULT_MODULE_ID] as Sample["modules"][string];
  expect(Array.from(returns)).toEqual([10]);
  // Two steps that end as truncated, with the observation on which the lost action was chosen, then the whole episode.
  expect(Array.from(fragment.sequences)).toEqual([0, 2, 2, 2, 4, 1]);
  expect(Array.from(fragment.obs)).toEqual([0, 1, 2, 0, 1, 2, 3, 4]);
});

/** The server notices that a client has left a moment later. */
async function retried<R>(attempt: () => Promise<R>): Promise<R> {
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof LinkRefusedError && error.code === "FULL")) throw error;
    }
}

test("one client too many is refused with the number, and a silent one is cut off", async () => {
  const { url, port } = await listening({ maxClients: 2, idleTimeoutMs: 200 });
  const silent = new Stranger(port);
  silent.say("HELLO", { version: 1 });
  const other = new Stranger(port);
  other.say("HELLO", { version: 1 });
  await expect(retriedUntilFull(url)).rejects.toThrow("there are 2 clients already, of 2 at most");
  expect(await silent.refusal()).toBe("IDLE: no frame came within 200 ms");
});

async function retriedUntilFull(url: string): Promise<void> {
  for (;;) (await ExternalClient.connect(url)).close();
}

test("a page of another origin is refused without a token, and one of this machine is not", async () => {
  const { url } = await listening({ transport: "websocket", allowedOrigins: ["https://game.example"] });
  const statusFor = async (origin?: string): Promise<string> =>
    await new Promise((resolve) => {
      const peer = new Peer(url, origin === undefined ? {} : { origin });
      peer.on("open", () => (resolve("open"), peer.terminate()));
      peer.on("error", ({ message }) => resolve(message));
    });
  expect(await statusFor("https://evil.example")).toBe("Unexpected server response: 403");
  expect(await statusFor("null")).toBe("Unexpected server response: 403");
  for (const origin of ["https://game.example", "http://localhost:3000", "http://127.0.0.1", undefined])
    expect(await statusFor(origin)).toBe("open");
});

test("masks are obeyed, and an empty one is refused", async () => {
  const observationSpace = new Dict({
    actionMask: new Box({ low: 0, high: 1, shape: [2], dtype: "int8" }),
    observations: SPACES.observationSpace,
  });
  const { runner, url } = await listening({ inference: "server", observationSpace });
  const sampling = sampled(runner, 3);
  const player = await client(url);
  const at = (...actionMask: number[]): object => ({ actionMask, observations: [0] });
  const actions = [await player.startEpisode(at(1, 0)), await player.step(at(0, 1), 0), await player.step(at(1, 0), 0)];
  expect(actions).toEqual([0, 1, 0]);
  await expect(player.step(at(0, 0), 0)).rejects.toThrow("the action mask forbids every choice");
  const other = await client(url);
  await other.startEpisode(at(1, 1));
  await other.endEpisode(at(0, 0), 1);
  expect((await sampling).steps).toBe(3);
});

test("a network that remembers goes with actions of the server: each episode begins with an empty state", async () => {
  const memory = { modelConfig: { useLstm: true, fcnetHiddens: [4], lstmCellSize: 4, maxSeqLen: 2 } };
  const { runner, url } = await listening({ inference: "server" }, memory);
  const player = await client(url);
  const playing = player.play(new Four(), { episodes: 2 });
  const { modules } = await sampled(runner, 8);
  await playing;
  const { states } = (modules[DEFAULT_MODULE_ID] as Sample["modules"][string]).fragment;
  // Two chunks an episode, of which the first begins with zeros.
  const isEmpty = Array.from({ length: 4 }, (_, chunk) => states.subarray(chunk * 8, chunk * 8 + 8).every((number) => number === 0));
  expect(isEmpty).toEqual([true, false, true, false]);
});

test("a client connects again when the algorithm is back on its port", async () => {
  const first = await listening({ transport: "websocket", chunkSteps: 4 });
  const player = await client(first.url);
  const over = new AbortController();
  const finished = player.play(new Four(), { signal: over.signal });
  await sampled(first.runner, 4);
  await first.runner.close();
  const second = await listening({ transport: "websocket", chunkSteps: 4, port: first.port });
  const sample = await sampled(second.runner, 8);
  expect(Array.from(sample.returns)).toEqual([10, 10]);
  over.abort();
  // Ends a wait for an answer, too.
  player.close();
  await expect(finished).rejects.toThrow(/aborted|closed by its client/);
});

test("a second listener on a port is an error that names the port", async () => {
  const { port } = await listening();
  await expect(listening({ port })).rejects.toThrow(`Cannot listen for external environments on 127.0.0.1, port ${port}: `);
});

test.each([
  ["a module of one's own", { moduleClass: class {} as never }, "moduleClass of rlModule() is set"],
  ["memory", { modelConfig: { useLstm: true, fcnetHiddens: [4], lstmCellSize: 4 } }, "useLstm of modelConfig is set"],
  ["clipped rewards", { clipRewards: true }, "clipRewards of environment() is set"],
])("clients cannot choose actions with %s", async (_, module, reason) => {
  await expect(listening({}, module)).rejects.toThrow(reason);
});
