/** Writes with a checkpoint: whatever step a kill comes after, the next run writes each row once and computes no recorded row again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as data from "shoal/data";
import { afterEach, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { failureOf, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ mode: "inProcess", numCpus: 1 });

const promises = createRequire(import.meta.url)("node:fs/promises") as Record<string, (...args: unknown[]) => Promise<unknown>>;
const CHANGES = ["open", "rename", "rm", "rmdir", "mkdir"] as const;
const ORIGINAL = Object.fromEntries(CHANGES.map((name) => [name, promises[name] as (...args: unknown[]) => Promise<unknown>]));

/** Fails every change of files in the test's folder after so many, as a killed process makes none. Returns how many there were. */
function killAfter(steps: number): () => number {
  let count = 0;
  for (const name of CHANGES)
    promises[name] = (...args) => {
      const isChange = name !== "open" || args[1] !== "r";
      if (!String(args[0]).startsWith(folder) || !isChange) return (ORIGINAL[name] as (typeof promises)[string])(...args);
      count += 1;
      return count > steps ? Promise.reject(new Error("the process is dead")) : (ORIGINAL[name] as (typeof promises)[string])(...args);
    };
  syncBuiltinESMExports();
  return () => count;
}

function revive(): void {
  Object.assign(promises, ORIGINAL);
  syncBuiltinESMExports();
}

afterEach(revive);

const ROWS = 12;
const IDS = Array.from({ length: ROWS }, (_, id) => id);

/** @param seen - gets the id of each row that is computed */
function answered(seen: number[] = []): data.Dataset<{ id: number; text: string }> {
  return data
    .range(ROWS)
    .repartition({ rowsPerBlock: 4 })
    .map(({ id }) => {
      seen.push(id);
      return { id, text: `row ${id}` };
    });
}

const idsIn = async (out: string): Promise<number[]> =>
  existsSync(out) && readdirSync(out).some((name) => name.startsWith("part-"))
    ? (await data.readParquet<{ id: number }>(out).takeAll()).map(({ id }) => id).toSorted((a, b) => a - b)
    : [];

/** Ids that the records name. */
async function recordedIn(path: string): Promise<number> {
  if (!existsSync(path)) return 0;
  const records = readdirSync(path).filter((name) => name.startsWith("record-"));
  return records.reduce((rows, name) => {
    const { files } = JSON.parse(readFileSync(join(path, name), "utf8")) as { files: { rowCount: number }[] };
    return rows + files.reduce((sum, { rowCount }) => sum + rowCount, 0);
  }, 0);
}

test("a kill after any step leaves a checkpoint from which each row is written once, and recorded rows are not computed again", async () => {
  const places = (name: string): [string, string] => [join(folder, `out ${name}`), join(folder, `checkpoint ${name}`)];
  const [whole, wholePath] = places("whole");
  const count = killAfter(Number.POSITIVE_INFINITY);
  const options = (path: string): data.WriteParquetOptions => ({ checkpoint: { idColumn: "id", path } });
  expect(await answered().writeParquet(whole, options(wholePath))).toMatchObject({ rowCount: ROWS });
  const steps = count();
  revive();
  expect(steps).toBeGreaterThan(20);
  const partly = new Set<number>();
  for (let step = 0; step < steps; step += 1) {
    const [out, path] = places(String(step));
    killAfter(step);
    await failureOf(answered().writeParquet(out, options(path))).catch(() => undefined);
    revive();
    rmSync(join(path, ".owner.json"), { force: true });
    const recorded = await recordedIn(path);
    partly.add(recorded);
    const seen: number[] = [];
    const result = await answered(seen).writeParquet(out, options(path));
    expect({ step, rows: result.rowCount, seen: seen.length }).toEqual({ step, rows: ROWS, seen: ROWS - recorded });
    expect({ step, ids: await idsIn(out) }).toEqual({ step, ids: IDS });
    expect({ step, files: result.files.toSorted() }).toEqual({
      step,
      files: readdirSync(out)
        .filter((name) => name.startsWith("part-"))
        .toSorted()
        .map((name) => join(out, name)),
    });
    expect(readdirSync(out).filter((name) => name.startsWith(".staging"))).toEqual([]);
    expect(readdirSync(path).filter((name) => name.startsWith("ids-"))).toHaveLength(
      readdirSync(path).filter((name) => name.startsWith("record-")).length,
    );
  }
  // Nothing, a task, and all.
  expect([...partly].toSorted((a, b) => a - b)).toEqual([0, ROWS / 2, ROWS]);
});

test("a finished write writes nothing again, and takes rows that came since", async () => {
  const [out, path] = [join(folder, "later"), join(folder, "later checkpoint")];
  const rows = (count: number): data.Dataset<{ name: string; n: number }> =>
    data.fromItems(Array.from({ length: count }, (_, n) => ({ name: `n${n}`, n }))).filter(data.col("n").ne(3));
  const options = { checkpoint: { idColumn: "name", path }, partitionBy: ["n"] };
  const first = await rows(5).writeCsv(out, options);
  expect(first.rowCount).toBe(4);
  expect(await rows(5).writeCsv(out, options)).toEqual(first);
  const more = await rows(7).writeCsv(out, options);
  expect(more.rowCount).toBe(6);
  expect(more.files.slice(0, 4)).toEqual(first.files);
  expect((await data.readCsv<{ name: string }>(out).takeAll()).map(({ name }) => name).toSorted()).toEqual([
    "n0",
    "n1",
    "n2",
    "n4",
    "n5",
    "n6",
  ]);
  rmSync(first.files[1] as string);
  expect(String(await failureOf(rows(7).writeCsv(out, options)))).toContain("a file with recorded rows is gone");
});

test("another plan, other options and other folders are refused", async () => {
  const [out, path] = [join(folder, "same"), join(folder, "same checkpoint")];
  const checkpoint = { idColumn: "id", path };
  const rows = data.range(3);
  await rows.map(({ id }) => ({ id, n: 1 })).writeJson(out, { checkpoint });
  const failed = async (write: Promise<unknown>): Promise<string> => String(await failureOf(write));
  expect(await failed(rows.map(({ id }) => ({ id, n: 2 })).writeJson(out, { checkpoint }))).toContain(
    "step 2 of the plan has changed: received map, with another function or other options",
  );
  expect(await failed(rows.writeJson(out, { checkpoint }))).toContain("received writeJson, in place of map");
  const mapped = rows.map(({ id }) => ({ id, n: 1 }));
  expect(await failed(mapped.writeCsv(out, { checkpoint }))).toContain("received writeCsv, in place of writeJson");
  expect(await failed(mapped.writeJson(`${out} 2`, { checkpoint }))).toContain("folder was");
  expect(await failed(mapped.writeJson(out, { checkpoint: { ...checkpoint, idColumn: "n" } }))).toContain(
    'idColumn was "id": received "n"',
  );
  expect(await failed(mapped.writeJson(out, { checkpoint: { idColumn: "id", path: join(out, "inside") } }))).toContain(
    "readers would take",
  );
  for (const dataset of [mapped.sort("id"), mapped.limit(2), mapped.union(mapped), mapped.groupBy("id").count(), mapped.randomSample(0.5)])
    expect(await failed((dataset as data.Dataset).writeJson(out, { checkpoint }))).toContain("only steps that treat each row alone");
  const file = join(path, "checkpoint.json");
  const description = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...description, version: 2 }));
  expect(await failed(mapped.writeJson(out, { checkpoint }))).toContain("reads checkpoints of version 1: received 2");
  writeFileSync(file, "{}");
  expect(await failed(mapped.writeJson(out, { checkpoint }))).toContain("the file is no part of a checkpoint");
});

test("rows without an id, and ids that two rows share, are refused", async () => {
  const written = async (rows: data.Dataset<any>, name: string): Promise<string> =>
    String(
      await failureOf(rows.writeJson(join(folder, name), { checkpoint: { idColumn: "id", path: join(folder, `${name} checkpoint`) } })),
    );
  expect(await written(data.fromItems([{ id: 1 }, { id: null }]), "null")).toContain('each row needs one in column "id": received null');
  expect(await written(data.fromItems([{ id: "a" }, { id: "b" }, { id: "a" }]), "shared")).toContain(
    'two rows share one in column "id": received "a"',
  );
  expect(await written(data.fromItems([{ id: 1.5 }]), "float")).toContain("has to be of whole numbers or texts: received 1.5");
  expect(await written(data.fromItems([{ other: 1 }]), "none")).toContain('there is no column "id": received other');
  expect(
    await written(
      data.range(2).map(({ id }) => ({ other: id })),
      "dropped",
    ),
  ).toContain('there is no column "id": received other');
  expect(() => data.range(1).writeJson("x", { checkpoint: { idColumn: "id" } as never })).toThrow(TypeError);
  expect(() => data.range(1).writeJson("x", { checkpoint: { idColumn: "id", path: "y" }, mode: "overwrite" })).toThrow(
    'takes the mode "append"',
  );
});

test("a row that shares its id with a recorded row of the same task is not left out in silence", async () => {
  const options = { checkpoint: { idColumn: "id", path: join(folder, "checkpoint") } };
  const out = join(folder, "out");
  const source = join(folder, "source.jsonl");
  const written = async (ids: readonly number[]): Promise<unknown> => {
    writeFileSync(source, ids.map((id) => `${JSON.stringify({ id })}\n`).join(""));
    return await data.readJson(source).writeParquet(out, options);
  };
  await written([1, 2]);
  expect(await failureOf(written([1, 2, 2, 3]))).toMatchObject({
    message: expect.stringContaining('two rows share one in column "id": received 2') as string,
  });
  expect(await idsIn(out)).toEqual([1, 2]);
});

test("a second run on one checkpoint is refused while the first lives, and a killed program resumes", async () => {
  const [out, path, go] = ["killed", "killed checkpoint", "go"].map((name) => join(folder, name)) as [string, string, string];
  const program = join(folder, "program.mjs");
  const source = [
    'import { appendFileSync, existsSync } from "node:fs";',
    `import * as data from ${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "data", "index.js")).href)};`,
    `const [out, path, go] = ${JSON.stringify([out, path, go])};`,
    // Workers of a killed run may go on for a moment, so each run has a log.
    "const log = process.argv[2];",
    "const rows = data.range(40).repartition({ rowsPerBlock: 2 }).map(async ({ id }) => {",
    // The first run does not get beyond some rows.
    "  while (id >= 20 && !existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 20));",
    `  appendFileSync(log, id + "\\n");`,
    "  return { id };",
    "});",
    "try {",
    '  const { rowCount } = await rows.writeParquet(out, { checkpoint: { idColumn: "id", path } });',
    "  console.log(rowCount);",
    "} catch (error) {",
    "  console.log(String(error));",
    "}",
    'await (await import("shoal")).shutdown();',
  ];
  writeFileSync(
    program,
    source.join("\n").replace('import("shoal")', `import(${JSON.stringify(pathToFileURL(join(REPOSITORY, "dist", "index.js")).href)})`),
  );
  const run = (log: string): ReturnType<typeof spawn> =>
    spawn(process.execPath, [program, join(folder, log)], { stdio: ["ignore", "pipe", "inherit"] });
  const first = run("first");
  await until(() => existsSync(path) && readdirSync(path).some((name) => name.startsWith("record-")), "a record");
  const second = run("second");
  let text = "";
  second.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(second, "close");
  expect(text).toContain("killed checkpoint");
  first.kill("SIGKILL");
  await once(first, "close");
  const before = await recordedIn(path);
  writeFileSync(go, "");
  const third = run("third");
  text = "";
  third.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(third, "close");
  expect(text.trim()).toBe("40");
  expect(readFileSync(join(folder, "third"), "utf8").trim().split("\n")).toHaveLength(40 - before);
  expect(await idsIn(out)).toEqual(Array.from({ length: 40 }, (_, id) => id));
});
