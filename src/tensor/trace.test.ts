import { expect, test } from "vitest";
import { Embedding, Layer, Mlp, NoisyLinear, Tensor, tensor, toOnnx, where, zeros } from "./index.ts";
import { trace } from "./trace.ts";

class Pass extends Layer {
  readonly weight: Tensor = this.parameter("weight", [2, 3]);
  readonly #pass: (x: Tensor, weight: Tensor) => Tensor;
  constructor(pass: (x: Tensor, weight: Tensor) => Tensor) {
    super();
    this.#pass = pass;
  }
  forward(x: Tensor): Tensor {
    return this.#pass(x, this.weight);
  }
}

const model = (pass: (x: Tensor, weight: Tensor) => Tensor): Uint8Array => toOnnx(new Pass(pass), { inputs: { x: [-1, 2] } });

test("a trace has inputs, parameters, constants and operations, with open rows", () => {
  const mlp = new Mlp([2, 4, 1]);
  const { values, outputs } = trace({ layer: mlp, inputs: { x: [-1, 2] }, forward: ({ x }) => ({ y: mlp.forward(x as Tensor).mul(2) }) });
  expect(values.map((value) => value.input ?? value.parameter ?? value.operation?.name)).toEqual([
    "x",
    "0.weight",
    "0.bias",
    "linear",
    "tanh",
    "2.weight",
    "2.bias",
    "linear",
    "affine",
  ]);
  expect(values[outputs["y"] as number]).toMatchObject({ shape: [{ rows: 1 }, 1], operation: { numbers: { p: 2, q: 0 } } });
});

test("constants of a row's shape, and zeros with a row each, are parts of a trace", () => {
  const layer = new Pass((x, weight) =>
    x
      .matmul(weight)
      .add(tensor([1, 2, 3]))
      .add(zeros([x.shape[0] as number, 3])),
  );
  const { values } = trace({ layer, inputs: { x: [-1, 2] }, forward: ({ x }) => ({ y: layer.forward(x as Tensor) }) });
  const constants = values.filter(({ constant }) => constant !== undefined);
  expect(constants).toEqual([
    { shape: [3], constant: Float32Array.of(1, 2, 3) },
    { shape: [{ rows: 1 }, 3], constant: Float32Array.of(0) },
  ]);
});

test.each<[string, (x: Tensor, weight: Tensor) => Tensor, string]>([
  ["detach", (x, weight) => x.matmul(weight).detach().mul(2), "come from an input, or from chance, without the tape"],
  ["a condition on numbers", (x) => where(x, x, x.mul(2)), "without the tape"],
  ["numbers that were read", (x) => x.add(x.toArray()[0] as number), "its operations depend on the number of rows"],
  ["gather", (x) => x.gather(new Int32Array(x.shape[0] as number)), "gather(index) takes indices that are no input"],
  ["rows", (x) => x.rows([0, 1]), "rows(index), and with it an Embedding, takes indices"],
  ["a part of the rows", (x) => x.slice({ axis: 0, start: 1 }), "its operations depend on the number of rows"],
  ["rows that are counted", (x) => x.mul(x.shape[0] as number), "its operations depend on the number of rows"],
])("%s cannot be traced, and the error says why", (_, pass, reason) => {
  expect(() => model(pass)).toThrow(`Cannot trace the layer: `);
  expect(() => model(pass)).toThrow(reason);
});

test("a trace leaves the parameters as they are", () => {
  const mlp = new Mlp([2, 1]);
  const before = mlp.parameters.data.slice();
  toOnnx(mlp, { inputs: { x: [-1, 2] } });
  expect(() => toOnnx(mlp, { inputs: { x: [-1, 3] } })).toThrow("Cannot");
  expect(mlp.parameters.data).toEqual(before);
});

test("noise cannot be traced", () => {
  const layer = new NoisyLinear(2, 3);
  expect(() => toOnnx(layer, { inputs: { x: [-1, 2] } })).toThrow("or from chance");
});

test("inputs are checked", () => {
  const mlp = new Mlp([2, 1]);
  expect(() => toOnnx(mlp, { inputs: { x: [2, -1] } })).toThrow("input x has lengths from 1 on, of which the first may be -1");
  expect(() => toOnnx(mlp, { inputs: {} })).toThrow("a layer with one input has a forward() for it: received the inputs none");
  expect(() => toOnnx(mlp, { inputs: { x: [-1, 2], y: [-1, 2] } })).toThrow("received the inputs x, y. Give { forward");
  expect(() => toOnnx(mlp, { inputs: { x: [-1, 3] } })).toThrow("The last axis of the left is as long as the first of the right");
  expect(() => toOnnx(new Embedding(3, 2), { inputs: { x: [-1] } })).toThrow("Cannot");
  expect(() => toOnnx(mlp, { inputs: { x: [-1, 2] }, forward: () => ({ y: 3 as never }) })).toThrow("output y is no tensor");
});
