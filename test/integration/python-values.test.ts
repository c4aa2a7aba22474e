/** Both codecs agree: Python reads and writes the vectors of the value format, and TypeScript reads what Python has written. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { environmentKey, type RuntimeEnvSpec } from "../../src/runtime/environment/runtime-env.ts";
import { decodeValue } from "../../src/runtime/wire/value/decode.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { pythonUnitTests, unless, WITHOUT_PYTHON } from "./python-places.ts";
import { useFolder } from "./session.ts";

interface Written {
  name: string;
  hex: string;
  bufferSizes: number[];
}

/** Kinds of values in Python that stand for several in JavaScript, and the kinds that come back. */
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
    const { status, stderr } = pythonUnitTests("test_execution_lease.py");
    expect(stderr).toMatch(/OK\n$/);
    expect(status).toBe(0);
  },
);

test.skipIf(WITHOUT_PYTHON !== undefined)(`both sides name an environment by the same key${unless(WITHOUT_PYTHON)}`, () => {
  const job = { jobId: "1", namespace: "n", node: "f".repeat(32), hostname: "h", directory: "/d", execArgv: [] };
  const at = { node: "a".repeat(32), hostname: "h" };
  const specs = [
    {},
    { envVars: { B: "2", A: "\u00e9\n\u0001", "\u{1f600}": "", "\uffee": '"' } },
    { envVars: { A: "1" }, language: "python", python: "/venv", pythonPreload: ["json"] },
    { workingDir: "/w", excludes: ["*.log"], nodeModules: ["a@1"], setupTimeoutMs: 5 },
    { execPath: "/node", execArgv: ["--flag"], job, workingDir: "/w", workingDirAt: at },
    { job },
  ] as unknown as RuntimeEnvSpec[];
  const program =
    "import json, sys; from shoal._functions import environment_key; print(json.dumps([environment_key(spec) for spec in json.load(sys.stdin)]))";
  const { stdout, stderr } = spawnSync("python3", ["-c", program], {
    encoding: "utf8",
    input: JSON.stringify(specs),
    env: { ...process.env, PYTHONPATH: join(REPOSITORY, "python"), PYTHONDONTWRITEBYTECODE: "1" },
  });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual(specs.map(environmentKey));
});
