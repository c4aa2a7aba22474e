import { expect, test } from "vitest";
import { scope, tensor } from "../../tensor/index.ts";
import { FrameStack } from "../connectors/frame-stack.ts";
import { Box } from "../spaces/box.ts";
import { Dict } from "../spaces/composite.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { Space } from "../spaces/space.ts";
import { type BuiltModule, buildModule } from "./module-spec.ts";
import type { ModelConfig } from "./model-config.ts";
import { defaultFilters } from "./picture-layers.ts";

const picture = (...shape: number[]): Box<"uint8"> => new Box({ low: 0, high: 255, shape, dtype: "uint8" });

function built(observationSpace: Space, modelConfig: ModelConfig = {}, connectors?: () => FrameStack): BuiltModule {
  const spec = { moduleClass: undefined, modelConfig, normalizeActions: true, clipActions: false, connectors };
  return buildModule(spec, { observationSpace, actionSpace: new Discrete(3) });
}

function namesOf({ module }: BuiltModule): string[] {
  return Array.from(module.parameters.tensors, ([name, { shape }]) => `${name} ${shape.join(" ")}`);
}

/** The outputs for one observation. */
function outputs({ module, encoder }: BuiltModule, observation: unknown): Record<string, number[]> {
  const row = new Float32Array(encoder.size);
  encoder.encoder.encode(observation, row, 0);
  return scope(() => {
    const output = module.forward({ obs: tensor(row, { shape: [1, row.length] }) });
    return { policy: Array.from(output.actionDistInputs?.toArray() ?? []), value: Array.from(output.vfPreds?.toArray() ?? []) };
  });
}

test("a picture gets RLlib's layers for its size, and no hidden layers behind them", () => {
  expect(namesOf(built(picture(84, 84, 4))).filter((name) => name.includes("weight"))).toEqual([
    "encoder.picture0.0.weight 8 8 4 16",
    "encoder.picture0.2.weight 4 4 16 32",
    "encoder.picture0.4.weight 11 11 32 256",
    "policy.0.weight 256 3",
    "value.0.weight 256 1",
  ]);
});

test.each([
  { side: 10, features: 32 * 3 * 3 },
  { side: 42, features: 256 },
  { side: 64, features: 256 * 4 * 4 },
  { side: 96, features: 256 },
])("a square picture of side $side has $features features", ({ side, features }) => {
  expect(namesOf(built(picture(side, side, 1)))).toContain(`policy.0.weight ${features} 3`);
});

test("pictures of other sizes are halved until eight are left", () => {
  expect(defaultFilters([20, 33, 3])).toEqual([
    [16, 4, 2],
    [32, 4, 2],
    [64, 4, 2],
  ]);
  expect(namesOf(built(picture(20, 33, 3)))).toContain(`policy.0.weight ${64 * 3 * 5} 3`);
});

test("bytes become numbers from 0 to 1 on their way to the network", () => {
  const { encoder } = built(picture(8, 8, 1));
  const row = new Float32Array(64);
  encoder.encoder.encodeColumn(
    Uint8Array.from({ length: 64 }, (_, at) => (at === 3 ? 255 : at === 4 ? 51 : 0)),
    1,
    row,
  );
  expect(Array.from(row.subarray(2, 6))).toEqual([0, 1, expect.closeTo(0.2, 6), 0]);
  expect(encoder.space.high[0]).toBe(1);
});

test("a picture in a Dict has layers of its own, and the numbers around it stay", () => {
  const space = new Dict({ before: new Discrete(2), camera: picture(8, 8, 1), speed: new Box({ low: -1, high: 1, shape: [3] }) });
  const module = built(space, { fcnetHiddens: [16] });
  expect(namesOf(module).slice(0, 4)).toEqual([
    "encoder.picture0.0.weight 4 4 1 16",
    "encoder.picture0.0.bias 16",
    `encoder.hidden.0.weight ${2 + 16 * 4 * 4 + 3} 16`,
    "encoder.hidden.0.bias 16",
  ]);
  const seen = { before: 1, camera: new Uint8Array(64).fill(9), speed: [0.1, 0.2, 0.3] };
  const whole = outputs(module, seen);
  for (const changed of [{ before: 0 }, { camera: new Uint8Array(64).fill(200) }, { speed: [0.1, 0.2, 0.4] }])
    expect(outputs(module, { ...seen, ...changed }).value).not.toEqual(whole["value"]);
});

test("stacked frames are channels of one picture", () => {
  expect(namesOf(built(picture(10, 10, 1), {}, () => new FrameStack({ numFrames: 4 })))[0]).toBe("encoder.picture0.0.weight 5 5 4 16");
});

test("a small board is no picture unless convFilters says so, and an empty list means none", () => {
  const board = new Box({ low: 0, high: 1, shape: [3, 3, 2] });
  expect(namesOf(built(board))[0]).toBe("encoder.hidden.0.weight 18 256");
  expect(namesOf(built(board, { convFilters: [[4, 3, 1]] }))[0]).toBe("encoder.picture0.0.weight 3 3 2 4");
  expect(namesOf(built(picture(84, 84, 1), { convFilters: [], fcnetHiddens: [4] }))[0]).toBe("encoder.hidden.0.weight 7056 4");
});

test("an LSTM follows, one for policy and values or one for each", () => {
  const config = { fcnetHiddens: [5], useLstm: true, lstmCellSize: 4 };
  const space = new Box({ low: 0, high: 1, shape: [2] });
  const shared = built(space, config);
  expect(Object.keys(shared.module.initialState())).toEqual(["h", "c"]);
  expect(namesOf(shared)).toContain("encoder.lstm.weight_ih_l0 5 16");
  const apart = built(space, { ...config, vfShareLayers: false });
  expect(Object.keys(apart.module.initialState())).toEqual(["h", "c", "valueH", "valueC"]);
  expect(apart.memory.size).toBe(16);
});

test.each<[string, () => unknown, string]>([
  [
    "filters without a picture",
    () => built(new Box({ low: 0, high: 1, shape: [4] }), { convFilters: [[16, 4, 2]] }),
    "convFilters needs a picture, a Box of the shape [height, width, channels]",
  ],
  [
    "a kernel larger than what reaches it",
    () =>
      built(picture(10, 10, 1), {
        convFilters: [
          [8, 4, 4],
          [8, 5, 1, "valid"],
        ],
      }),
    "layer 2 of convFilters has a kernel of 5 x 5, and 3 x 3 reaches it",
  ],
  [
    "a length of no steps",
    () => built(picture(10, 10, 1), { maxSeqLen: 0 }),
    "maxSeqLen of modelConfig is a whole number from 1: received 0",
  ],
])("%s is refused", (_, make, reason) => {
  expect(make).toThrow(reason);
});
