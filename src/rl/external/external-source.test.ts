import { expect, test } from "vitest";
import { PPOConfig } from "../algorithms/ppo.ts";
import { makeEnv } from "../environments/make-env.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { Text } from "../spaces/text.ts";
import { externalEnv } from "./external-source.ts";

const SPACES = { observationSpace: new Box({ low: 0, high: 1, shape: [2] }), actionSpace: new Discrete(2) };

test.each<[string, object, string]>([
  ["no space of actions", { actionSpace: undefined }, "actionSpace is needed"],
  ["texts", { observationSpace: new Text({ maxLength: 5 }) }, "observationSpace is a space Text, which has no array"],
  ["an open address without a token", { host: "0.0.0.0" }, "Cannot listen on 0.0.0.0: an address beyond this machine needs a token"],
  ["a short token", { token: "secret" }, "a text of 16 to 1024 characters is needed"],
  ["another transport", { transport: "udp" }, '"websocket" or "tcp" is needed'],
  ["a port that does not exist", { port: 70_000 }, "a whole number from 0 to 65535 is needed"],
  [
    "messages larger than frames",
    { observationSpace: new Box({ low: 0, high: 1, shape: [84, 84, 4] }) },
    "a message of 200 steps may have 45158400 bytes, and maxFrameBytes is 16777216",
  ],
])("%s is refused", (_, options, reason) => {
  expect(() => externalEnv({ ...SPACES, ...options })).toThrow(reason);
});

test("loopback needs no token, and other addresses have one", () => {
  for (const host of ["127.0.0.1", "127.3.4.5", "localhost", "::1"]) expect(externalEnv({ ...SPACES, host }).external.host).toBe(host);
  expect(externalEnv({ ...SPACES, host: "0.0.0.0", token: "0123456789abcdef" }).external.host).toBe("0.0.0.0");
});

test("an external environment shows its spaces, and nobody here can step it", async () => {
  const env = await makeEnv(externalEnv(SPACES));
  expect(env.actionSpace).toEqual(SPACES.actionSpace);
  expect(() => env.reset()).toThrow("Cannot reset an external environment: its clients play by themselves");
});

test.each<[string, (config: PPOConfig) => PPOConfig]>([
  ["evaluationInterval of evaluation()", (config) => config.evaluation({ evaluationInterval: 1 })],
  ["numEnvsPerEnvRunner of envRunners()", (config) => config.envRunners({ numEnvsPerEnvRunner: 4 })],
  ["output of offlineData()", (config) => config.offlineData({ output: "episodes" })],
])("%s is an error before anything listens", async (option, change) => {
  const config = change(new PPOConfig().environment(externalEnv({ ...SPACES, onListening: () => expect.unreachable() })));
  await expect(config.buildAlgo()).rejects.toThrow(`${option} has no effect`);
});

test("a checkpoint says that the environment has to be given again", () => {
  expect(new PPOConfig().environment(externalEnv(SPACES)).toCheckpoint().code).toEqual(["environment"]);
});
