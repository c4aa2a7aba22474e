/** Runs the examples of Data as a user would, and checks their output. */
import { expect, test } from "vitest";
import { runProgram } from "./house/run-program.ts";

async function output(name: string, ...args: readonly string[]): Promise<string> {
  const run = await runProgram([`examples/${name}.ts`, ...args]);
  expect(run.stderr).toBe("");
  expect(run.exitCode).toBe(0);
  return run.stdout;
}

test("data-word-count: the most frequent words of a real text", async () => {
  const [summary, ...top] = (await output("data-word-count")).trimEnd().split("\n");
  const [, words, different] = /^(\d+) words, (\d+) different ones$/.exec(summary ?? "") ?? [];
  expect(Number(words)).toBeGreaterThan(50_000);
  expect(Number(different)).toBeGreaterThan(2000);
  expect(top).toHaveLength(10);
  expect(top[0]).toMatch(/^ +\d+ {2}the$/);
});

test("data-images: thumbnails, and a table of their colours", async () => {
  expect(await output("data-images")).toBe("24 thumbnails of 96 x 128\n00.jpg  red 254\n01.jpg  red 244\n02.jpg  red 233\n");
});

test("data-embeddings: the nearest texts to a question, by a pool of actors", async () => {
  const [question, ...found] = (await output("data-embeddings", "may a dataset overwrite the files it is read from")).trimEnd().split("\n");
  expect(question).toBe("may a dataset overwrite the files it is read from");
  expect(found).toHaveLength(3);
  expect(found[0]).toMatch(/^0\.\d\d {2}.*(dataset|overwrite|files)/);
});

test("data-etl: CSV is cleaned, joined and written by countries", async () => {
  expect(await output("data-etl", "30000")).toBe(
    [
      "30000 rows read, 29400 written to country=ch, country=it, country=no",
      "milan  7400 rides, 3.61 a kilometre",
      "rome   7300 rides, 3.60 a kilometre",
      "",
    ].join("\n"),
  );
});

test("data-training: two trainers come to the line that the data were made of", async () => {
  const lines = (await output("data-training", "4")).trimEnd().split("\n");
  expect(lines.slice(0, 4).map((line) => /^epoch \d: (\d+) rows/.exec(line)?.[1])).toEqual(Array(4).fill("40000"));
  const losses = lines.slice(0, 4).map((line) => Number(/loss ([\d.]+)$/.exec(line)?.[1]));
  expect(losses[3]).toBeLessThan((losses[0] ?? 0) / 50);
  const [a, b, c] = (lines[4]?.match(/-?\d\.\d\d/g) ?? []).map(Number);
  expect(a).toBeCloseTo(3, 0.7);
  expect(b).toBeCloseTo(-2, 0.7);
  expect(c).toBeCloseTo(2.5, 0.7);
});
