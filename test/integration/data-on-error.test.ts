/** `onError` of readers and functions, and `encodingErrors`, lose the bad items alone and count them in `stats()`. Runs in in-process mode. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as data from "shoal/data";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ mode: "inProcess", numCpus: 2 });

let names = 0;

/** A folder with files of these texts or bytes. */
function filesOf(...contents: readonly (string | Uint8Array)[]): string {
  const path = join(folder, `files-${(names += 1)}`);
  mkdirSync(path);
  for (const [i, content] of contents.entries()) writeFileSync(join(path, `${i}.txt`), content);
  return path;
}

interface Result {
  readonly rows: readonly unknown[];
  readonly items: number | undefined;
  readonly messages: readonly string[];
}

async function resultOf(rows: data.Dataset<any>): Promise<Result> {
  const all = await rows.takeAll();
  const stats = await rows.stats();
  return { rows: all, items: stats?.erroredItems, messages: stats?.firstErrors.map(({ error }) => error.message) ?? [] };
}

describe("functions", () => {
  const failing = ({ id }: { id: number }): { id: number; half: number } => {
    if (id % 3 === 1) throw new Error(`no ${id}`);
    return { id, half: id / 2 };
  };

  test("a row that fails is left out, or null, and counts", async () => {
    const skipped = await resultOf(data.range(7).map(failing, { onError: "skip" }));
    expect(skipped.rows).toEqual([0, 2, 3, 5, 6].map((id) => ({ id, half: id / 2 })));
    expect(skipped.items).toBe(2);
    expect(skipped.messages.join("\n")).toMatch(/no 1[^]*no 4/);
    const nulls = await resultOf(data.range(3).map(failing, { onError: "null" }));
    expect(nulls.rows).toEqual([
      { id: 0, half: 0 },
      { id: null, half: null },
      { id: 2, half: 1 },
    ]);
    expect(nulls.items).toBe(1);
    await expect(data.range(7).map(failing, { onError: "raise" }).takeAll()).rejects.toThrow("no 1");
  });

  test("promises, generators, filters and batches have the same", async () => {
    const later = data.range(4).map(async (row) => failing(row), { onError: "skip" });
    expect((await resultOf(later)).rows).toEqual([0, 2, 3].map((id) => ({ id, half: id / 2 })));
    const twice = data.range(3).flatMap(
      function* twice({ id }): Generator<{ id: number }> {
        yield { id };
        if (id === 1) throw new Error("amid");
        yield { id };
      },
      { onError: "skip" },
    );
    expect(await resultOf(twice)).toMatchObject({ rows: [0, 0, 1, 2, 2].map((id) => ({ id })), items: 1 });
    const even = data.range(4).filter(
      ({ id }) => {
        if (id === 2) throw new Error("odd");
        return id % 2 === 0;
      },
      { onError: "skip" },
    );
    expect(await resultOf(even)).toMatchObject({ rows: [{ id: 0 }], items: 1 });
    const batches = data.range(6).mapBatches(
      ({ id }) => {
        if (id.includes(2)) throw new Error("batch");
        return { id };
      },
      { batchSize: 2, onError: "skip" },
    );
    expect(await resultOf(batches)).toMatchObject({ rows: [0, 1, 4, 5].map((id) => ({ id })), items: 2 });
  });

  test("a class has it, too, and the rows behind keep their places", async () => {
    class Half {
      call(row: { id: number }): { id: number; half: number } {
        return failing(row);
      }
    }
    expect(await resultOf(data.range(4).map(Half, { onError: "skip" }))).toMatchObject({
      items: 1,
      rows: [{ id: 0 }, { id: 2 }, { id: 3 }],
    });
    const path = filesOf("id\n0\n1\n2\n");
    const chained = data
      .readCsv<{ id: number }>(path)
      .map(failing, { onError: "skip" })
      .map(({ id }) => {
        if (id === 2) throw new Error("later");
        return { id };
      });
    await expect(chained.takeAll()).rejects.toThrow(/row 3 of .*0\.txt/);
  });

  test("a run of which nothing is left counts all, also behind other steps and in a write", async () => {
    const none = data.range(5).map(
      (): { a: number } => {
        throw new Error("all");
      },
      { onError: "skip" },
    );
    expect(await resultOf(none)).toMatchObject({ rows: [], items: 5 });
    expect(await resultOf(none.selectColumns(["a"]).groupBy("a").count())).toMatchObject({ rows: [], items: 5 });
    const some = data.range(4).map(failing, { onError: "skip" });
    expect(await some.writeCsv(join(folder, `out-${(names += 1)}`))).toMatchObject({ rowCount: 3 });
    expect((await some.stats())?.erroredItems).toBe(1);
    expect(String(await some.stats())).toContain("left out, or null, because of errors: 1 item");
  });

  test("other values are refused", () => {
    expect(() => data.range(1).map((row) => row, { onError: "ignore" as "skip" })).toThrow('"raise" or "skip" or "null" is needed');
    expect(() => data.range(1).filter(() => true, { onError: "null" as "skip" })).toThrow('"raise" or "skip"');
    expect(() => data.readCsv("x", { onError: "warn" as "skip" })).toThrow('"raise" or "skip" or "null" is needed');
  });
});

describe("CSV", () => {
  // DuckDB's ignore_errors gives the same rows for "skip", and Polars' ignore_errors the same nulls for "null", but for lines 5 and 6.
  const text = 'id,km\n1,1.5\n2,far\n3,3.5\n4\n5,"a"b\n6,6.5\nseven,far\n8,8.5\n';
  const schema = { id: "int64", km: "float64" };

  test("leaves out records that cannot be read", async () => {
    const { rows, items, messages } = await resultOf(data.readCsv(filesOf(text), { schema, onError: "skip" }));
    expect(rows).toEqual([1, 3, 6, 8].map((id) => ({ id, km: id + 0.5 })));
    expect(items).toBe(4);
    expect(messages.join("\n")).toMatch(/row 2 \(line 3\) has "far" in column "km"/);
    for (const line of [5, 6, 8]) expect(messages.join("\n")).toContain(`line ${line}`);
  });

  test("makes fields null that do not fit", async () => {
    const { rows, items } = await resultOf(data.readCsv(filesOf(text), { schema, onError: "null" }));
    expect(rows).toEqual([
      { id: 1, km: 1.5 },
      { id: 2, km: null },
      { id: 3, km: 3.5 },
      { id: 6, km: 6.5 },
      { id: null, km: null },
      { id: 8, km: 8.5 },
    ]);
    expect(items).toBe(5);
  });

  test("has the same in files of many blocks, and in types that were inferred", async () => {
    const lines = Array.from({ length: 400_000 }, (_, i) => (i === 390_000 ? "x,0" : `${i},${i % 7 === 0 ? "" : i}`));
    const { rows, items } = await resultOf(data.readCsv(filesOf(`a,b\n${lines.join("\n")}\n`), { onError: "skip" }));
    expect([rows.length, items]).toEqual([399_999, 1]);
    expect(rows[390_000]).toEqual({ a: 390_001, b: 390_001 });
  });

  test("loses the line of a quote that is not closed, and goes on behind it", async () => {
    const path = filesOf('a,b\n1,2\n3,"4\n5,6\n7,8\n', "a,b\n9,10\n");
    const { rows, items, messages } = await resultOf(data.readCsv(path, { onError: "skip", schema: { a: "int64", b: "int64" } }));
    expect([rows, items]).toEqual([[1, 5, 7, 9].map((a) => ({ a, b: a + 1 })), 1]);
    expect(messages[0]).toContain("row 2 (line 3, byte 8) opens a quote that the file does not close");
  });

  test("does not take a wrong option for a bad item", async () => {
    await expect(data.readCsv(filesOf(text), { onError: "skip", columns: ["miles"] }).takeAll()).rejects.toThrow('no column "miles"');
  });
});

describe("JSON", () => {
  const text = '{"a":1,"b":"x"}\n{"a":2,\n{"a":"three","b":"z"}\n[4]\n{"a":5}\n';

  test("leaves out lines that are no rows, and values that do not fit", async () => {
    const { rows, items } = await resultOf(data.readJson(filesOf(text), { onError: "skip" }));
    expect(rows).toEqual([
      { a: 1, b: "x" },
      { a: 5, b: null },
    ]);
    expect(items).toBe(3);
    const typed = await resultOf(data.readJson(filesOf(text), { onError: "null", schema: { a: "int64" } }));
    expect(typed.rows).toEqual([
      { a: 1, b: "x" },
      { a: null, b: null },
      { a: null, b: "z" },
      { a: null, b: null },
      { a: 5, b: null },
    ]);
    expect(typed.items).toBe(3);
  });

  test("finds lines behind a bad first one, and objects of an array", async () => {
    expect(await resultOf(data.readJson(filesOf('{"a":\n{"a":2}\n'), { onError: "skip" }))).toMatchObject({ rows: [{ a: 2 }], items: 1 });
    expect(await resultOf(data.readJson(filesOf('[{"a":1},{"a":nul},\n{"a":3}]'), { onError: "skip" }))).toMatchObject({
      rows: [{ a: 1 }, { a: 3 }],
      items: 1,
    });
  });
});

describe("files", () => {
  test("a broken image costs itself", async () => {
    const good = await sharp({ create: { width: 2, height: 2, channels: 3, background: "red" } })
      .png()
      .toBuffer();
    const path = filesOf(good, "no image", good);
    const skipped = data.readImages(path, { onError: "skip", includePaths: true });
    expect((await skipped.takeAll()).map(({ path: file }) => file?.slice(-5))).toEqual(["0.txt", "2.txt"]);
    expect((await skipped.stats())?.erroredItems).toBe(1);
    const nulls = await data.readImages(path, { onError: "null", includePaths: true }).takeAll();
    expect(nulls.map(({ image }) => image === null)).toEqual([false, true, false]);
    expect(nulls[1]?.path).toMatch(/1\.txt$/);
    await expect(data.readImages(path).takeAll()).rejects.toThrow("1.txt as an image");
  });

  test("a bad file of Parquet, and one that is cut off, cost themselves", async () => {
    const path = join(folder, `parquet-${(names += 1)}`);
    const { files } = await data.range(30).repartition(3).writeParquet(path);
    writeFileSync(files[1] as string, "PAR1 no PAR1");
    const { rows, items } = await resultOf(data.readParquet(path, { onError: "skip" }));
    expect(rows).toHaveLength(20);
    expect(items).toBe(1);
    const cut = join(folder, `cut-${(names += 1)}.csv.gz`);
    writeFileSync(cut, "no gzip");
    expect(await resultOf(data.readCsv(cut, { onError: "skip" }))).toMatchObject({ rows: [], items: 1 });
  });
});

describe("bytes that are no text", () => {
  const bad = Buffer.concat([
    Buffer.from("a\nB\u00fcro \ufffd\nx"),
    Buffer.from([0xff, 0x80]),
    Buffer.from("y\n"),
    Buffer.from([0xe2, 0x82]),
  ]);

  test.each<[string, (path: string) => data.Dataset<any>, unknown]>([
    [
      "text",
      (path) => data.readText(path, { encodingErrors: "replace" }),
      ["a", "B\u00fcro \ufffd", "x\ufffd\ufffdy", "\ufffd"].map((text) => ({ text })),
    ],
    [
      "CSV",
      (path) => data.readCsv(path, { encodingErrors: "replace" }),
      ["B\u00fcro \ufffd", "x\ufffd\ufffdy", "\ufffd"].map((a) => ({ a })),
    ],
  ])("are replaced in %s, and counted", async (_, read, expected) => {
    const rows = read(filesOf(bad));
    expect(await rows.takeAll()).toEqual(expected);
    expect((await rows.stats())?.replacedCharacters).toBe(3);
    expect(String(await rows.stats())).toContain("replaced, as their bytes are outside the encoding: 3 characters");
  });

  test("are replaced in JSON and in other encodings", async () => {
    const json = Buffer.concat([Buffer.from('{"a":"x'), Buffer.from([0xc3]), Buffer.from('"}\n')]);
    const rows = data.readJson(filesOf(json), { encodingErrors: "replace" });
    expect(await rows.takeAll()).toEqual([{ a: "x\ufffd" }]);
    expect((await rows.stats())?.replacedCharacters).toBe(1);
    const gbk = data.readText(filesOf(Buffer.from([0x61, 0xff, 0x0a, 0x62, 0x0a])), { encoding: "gbk", encodingErrors: "replace" });
    expect(await gbk.takeAll()).toEqual([{ text: "a\ufffd" }, { text: "b" }]);
    expect((await gbk.stats())?.replacedCharacters).toBe(1);
  });

  test("are errors that name the option", async () => {
    await expect(data.readText(filesOf(bad)).takeAll()).rejects.toMatchObject({
      hint: expect.stringContaining('encodingErrors: "replace"'),
    });
  });

  test("characters across the borders of chunks stay whole", async () => {
    const text = "\u20ac".repeat(200_000);
    const rows = data.readText(filesOf(Buffer.concat([Buffer.from("x"), Buffer.from(`${text}\n`), Buffer.from([0xff, 0x0a])])), {
      encodingErrors: "replace",
    });
    const [first, second] = await rows.takeAll();
    expect(first?.text === `x${text}`).toBe(true);
    expect(second).toEqual({ text: "\ufffd" });
    expect((await rows.stats())?.replacedCharacters).toBe(1);
  });
});
