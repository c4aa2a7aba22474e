/** Batches of tensors of torch that Python takes from parts of datasets: types, shapes, memory, mixing, errors, and a model that learns from them. */
import { join } from "node:path";
import { NdArray, python } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { environment } from "../frameworks/environments.ts";
import { PYTHON_FOLDER, unless } from "../integration/python-places.ts";
import { useSession } from "../integration/session.ts";

const found = environment("torch");
const problem = "problem" in found ? found.problem : undefined;

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const ascending = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const blocksOf = (blocks: number, rows: number): data.Dataset<{ id: number }> => data.range(blocks * rows).repartition(blocks);

describe.skipIf(problem !== undefined)(`batches of tensors${unless(problem)}`, () => {
  useSession({ numCpus: 2, runtimeEnv: { python: "venv" in found ? join(found.venv, "bin", "python3") : undefined } });
  const torch = <F extends (...args: never[]) => unknown>(name: string) => python.task<F>(join(PYTHON_FOLDER, "torch_iterators.py"), name);
  type Columns = Record<string, [string, number[], unknown[]]>;
  const partOf = async (dataset: data.Dataset): Promise<data.DataIterator> => (await dataset.streamingSplit(1))[0] as data.DataIterator;

  const many = data.range(40).mapBatches(({ id }) => ({
    id,
    whole: Int32Array.from(id),
    flag: Array.from(id, (value) => value % 2 === 0),
    image: Array.from(id, (value) => new NdArray(Uint8Array.of(value, 1, 2, 3, 4, 5), [2, 3])),
    some: Array.from(id, (value) => (value === 1 ? null : value)),
  }));

  test("columns are tensors of their types and shapes, or of those that are asked for", async () => {
    const part = await partOf(many.repartition(1));
    const columns = torch<(part: unknown, options?: object) => Columns>("columns");
    expect(await columns.remote(part)).toEqual({
      id: ["torch.int64", [40], [0, 1, 2, 3, 4, 5]],
      whole: ["torch.int32", [40], [0, 1, 2, 3, 4, 5]],
      flag: ["torch.bool", [40], [true, false, true, false, true, false]],
      image: ["torch.uint8", [40, 2, 3], [0, 1, 2, 3, 4, 5]],
      some: ["torch.float64", [40], [0, NaN, 2, 3, 4, 5]],
    });
    expect((await columns.remote(part, { batch_size: 7, device: "cpu" }))["image"]?.[1]).toEqual([7, 2, 3]);
    const typed = torch<(part: unknown, dtypes: string) => Columns>("with_dtypes");
    expect(Object.values(await typed.remote(part, "float32")).map(([type]) => type)).toEqual(
      Array.from({ length: 5 }, () => "torch.float32"),
    );
    const byColumn = await typed.remote(part, "by column");
    expect([byColumn["id"]?.[0], byColumn["image"]?.[0], byColumn["whole"]?.[0]]).toEqual(["torch.int32", "torch.float16", "torch.int32"]);
  });

  test("tensors share memory with the store, may be written to, and nobody sees it", async () => {
    const x = data.range(200_000).mapBatches(({ id }) => ({ x: Float64Array.from(id) }), { batchSize: 100_000 });
    const kept = await x.materialize();
    const { places, warned, again } = await torch<(part: unknown) => { places: string[]; warned: string[]; again: number[] }>(
      "memory",
    ).remote(await partOf(kept));
    expect(places).toHaveLength(200);
    expect(places.filter((place) => /shm|memfd|shoal/.test(place)).length).toBeGreaterThanOrEqual(199);
    expect(warned).toEqual([]);
    expect(again.reduce((sum, one) => sum + one)).toBe((199_999 * 200_000) / 2);
    expect(await kept.sum("x")).toBe((199_999 * 200_000) / 2);
  });

  test("collate_fn, mixing, and what is wrong", async () => {
    const part = await partOf(data.range(20).repartition(2));
    const [batches, text] = await torch<(part: unknown) => [number[][], string]>("collated").remote(part);
    expect([batches, text]).toEqual([[upTo(6).map((id) => 2 * id), [12, 14, 16, 18, 20, 22], [24, 26, 28, 30, 32, 34]], "text"]);
    const ids = await torch<(part: unknown) => number[]>("mixed").remote(await partOf(blocksOf(4, 50)));
    expect(ascending(ids)).toEqual(upTo(200));
    expect(ids).not.toEqual(upTo(200));
    const texts = await partOf(data.fromItems([{ name: "a" }]));
    const messages = await torch<(part: unknown) => string[]>("problems").remote(texts);
    expect(messages[0]).toContain("iter_torch_batches: column 'name' is no tensor: torch has none of the type string");
    expect(messages.slice(1)).toEqual([
      "Cannot call iter_torch_batches: it takes dtypes without collate_fn alone: convert the tensors in collate_fn",
      "Cannot call iter_torch_batches: it takes as dtypes a dtype of torch, or a dict of such by column: received 'float32'",
      "Cannot call iter_torch_batches: it takes as collate_fn a function of a dict of NumPy arrays: received int",
    ]);
  });

  test("a model learns from them", async () => {
    const line = data.range(200).map(({ id }) => ({ x: id / 200, y: (3 * id) / 200 + 1 }));
    const [weight, bias] = await torch<(part: unknown) => [number, number]>("trained").remote(await partOf(line));
    expect(weight).toBeCloseTo(3, 0);
    expect(bias).toBeCloseTo(1, 0);
  });
});
