/** Files of arrays and tables between us and Python's libraries: what NumPy and pyarrow write we read, and they read what we write. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { NdArray } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { PYTHON_FOLDER, scientificPython, unless } from "./python-places.ts";
import { useFolder, useSession } from "./session.ts";

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const folder = useFolder();

/** Calls a function of `data_files.py`; the result is what it prints. */
function python(name: string, ...args: string[]): unknown {
  const program = "venv" in found ? join(found.venv, "bin", "python3") : "";
  const { status, stdout, stderr } = spawnSync(program, [join(PYTHON_FOLDER, "data_files.py"), name, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout === "" ? undefined : JSON.parse(stdout);
}

describe.skipIf(problem !== undefined)(`Python's libraries${unless(problem)}`, () => {
  useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

  test("tensors that pyarrow writes", async () => {
    python("write_tensors", folder);
    const expected = Array.from({ length: 4 }, (_, row) => ({
      t: new NdArray(
        Int16Array.from({ length: 6 }, (__, i) => row * 6 + i),
        [3, 2],
      ),
      n: row % 2 === 1 ? null : new NdArray(Float32Array.of(row + 1, row + 2), [2]),
      // Its elements lie in another order than its dimensions: it stays the list that it is stored as.
      turned: Array.from({ length: 6 }, (__, i) => row * 6 + i),
    }));
    expect(await data.readParquet(`${folder}/tensors.parquet`).takeAll()).toEqual(expected);
    expect(await data.fromArrow(readFileSync(`${folder}/tensors.arrow`)).takeAll()).toEqual(expected);
  });

  test("tensors that pyarrow reads", async () => {
    const path = join(folder, "ours");
    mkdirSync(path);
    const tensor = (...values: number[]): NdArray => new NdArray(Float32Array.from(values), [values.length / 2, 2]);
    const rows = [
      { fixed: tensor(1, 2, 3, 4), whole: tensor(1, 2), variable: tensor(1, 2) },
      { fixed: null, whole: tensor(3, 4), variable: null },
      { fixed: tensor(5, 6, 7, 8), whole: tensor(5, 6), variable: tensor(1, 2, 3, 4) },
    ];
    await data.fromItems(rows).writeParquet(path);
    expect(python("read_tensors", path)).toEqual({
      type: expect.stringContaining("fixed_shape_tensor"),
      shape: [2, 2],
      nulls: 1,
      values: [[1, 2, 3, 4], null, [5, 6, 7, 8]],
      ndarray: [3, 1, 2],
      variable: [
        [
          [1, 2],
          [1, 2],
        ],
        null,
        [
          [1, 2, 3, 4],
          [2, 2],
        ],
      ],
    });
  });
});
