/** The options of trainers that concern their datasets: settings of the engine for all or for some, names, and what is refused. */
import { describe, expect, test } from "vitest";
import * as data from "../data/index.ts";
import { readTrainerOptions } from "./trainer-options.ts";

function read(dataConfig: object, datasets: object = { train: data.range(4), check: data.range(2).setName("mine") }) {
  return readTrainerOptions({ datasets, dataConfig }, { name: "DataParallelTrainer", hasLoop: true, own: {} }).datasets;
}

describe("dataConfig", () => {
  test("takes settings of the engine for all datasets, or for some by name", () => {
    const taken = [
      { preserveOrder: false },
      { train: { preserveOrder: false } },
      { labelSelector: { pool: "data" } },
      { resourceLimits: { CPU: 2 }, excludeResources: { GPU: 1 } },
      { train: { resourceLimits: { CPU: 2 } } },
      {},
    ];
    for (const executionOptions of taken) expect(Object.keys(read({ executionOptions }).datasets)).toEqual(["train", "check"]);
  });

  test("leaves the given datasets as they are; its own have a name", () => {
    const train = data.range(4);
    const { datasets } = read({}, { train, check: data.range(2).setName("mine") });
    expect([train.name, datasets["train"]?.name, datasets["check"]?.name]).toEqual([undefined, "train", "mine"]);
  });

  test.each<[object, string]>([
    [{ executionOptions: 3 }, "Cannot set executionOptions of dataConfig: an object such as { preserveOrder: false }, or { train: "],
    [{ executionOptions: { preserveOrdr: false } }, "did you mean preserveOrder"],
    [{ executionOptions: { tarin: {} } }, 'there is no dataset "tarin": there are train, check'],
    [{ executionOptions: { train: { memoryBytes: -1 } } }, "Cannot set memoryBytes of data"],
    [{ executionOptions: { resourceLimits: { CPU: -1 } } }, "Cannot set resourceLimits of data"],
    [{ execution_options: {} }, "it is spelled executionOptions"],
    [{ datasetsToSplit: ["tset"] }, 'Cannot set datasetsToSplit of dataConfig: there is no dataset "tset"'],
  ])("%j is refused", (dataConfig, message) => {
    expect(() => read(dataConfig)).toThrow(message);
  });
});
