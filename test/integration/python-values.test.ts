/** Both codecs agree: Python reads and writes the vectors of the value format, and TypeScript reads what Python has written. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { decodeValue } from "../../src/wire/value/decode.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { useFolder } from "./session.ts";

interface Written {
  name: string;
  hex: string;
  bufferSizes: number[];
}

/** One kind of thing in Python stands for several in JavaScript: what comes back of them. */
const OTHERWISE: Readonly<Record<string, unknown>> = {
  "bigint of 8 bytes": 5,
  "negative bigint of 8 bytes": -1,
  "empty Map": {},
  "boxed number": 5,
  "boxed string": "x",
  Buffer: new Uint8Array([0x68, 0x69]),
  ArrayBuffer: new Uint8Array([1, 2]),
  DataView: new Uint8Array([1, 2]),
  Uint8ClampedArray: new Uint8Array([255]),
};

const folder = useFolder();

test.skipIf(WITHOUT_PYTHON !== undefined)(`what Python writes, TypeScript reads${unless(WITHOUT_PYTHON)}`, () => {
  const file = join(folder, "written.json");
  const { status, stderr } = spawnSync("python3", [join(REPOSITORY, "python", "tests", "test_values.py")], {
    encoding: "utf8",
    env: { ...process.env, PYTHONPATH: join(REPOSITORY, "python"), PYTHONDONTWRITEBYTECODE: "1", SHOAL_WRITTEN_VECTORS: file },
  });
  expect(stderr).toMatch(/OK\n$/);
  expect(status).toBe(0);
  const vectors = JSON.parse(readFileSync(join(REPOSITORY, "test", "vectors", "values.json"), "utf8")) as {
    name: string;
    javascript: string;
  }[];
  const written = JSON.parse(readFileSync(file, "utf8")) as Written[];
  expect(written.map(({ name }) => name)).toEqual(vectors.map(({ name }) => name));
  written.forEach(({ name, hex, bufferSizes }, index) => {
    const custom = { kind: 5, payload: [1] };
    const read = decodeValue(
      Buffer.from(hex, "hex"),
      bufferSizes.map((size) => new Uint8Array(size)),
      { revive: (kind, payload) => ({ kind, payload }) },
    );
    const given = Object.hasOwn(OTHERWISE, name) ? OTHERWISE[name] : (runInThisContext(`(${vectors[index]?.javascript})`) as unknown);
    expect({ name, value: read }).toEqual({ name, value: typeof given === "function" ? custom : given });
  });
});

test.skipIf(WITHOUT_PYTHON !== undefined)(
  `a worker of Python whose daemon does not say that it may run stands still${unless(WITHOUT_PYTHON)}`,
  () => {
    const { status, stderr } = spawnSync("python3", [join(REPOSITORY, "python", "tests", "test_permit.py")], {
      encoding: "utf8",
      env: { ...process.env, PYTHONPATH: join(REPOSITORY, "python"), PYTHONDONTWRITEBYTECODE: "1" },
    });
    expect(stderr).toMatch(/OK\n$/);
    expect(status).toBe(0);
  },
);
