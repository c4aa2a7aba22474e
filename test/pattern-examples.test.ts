/** Runs the examples of patterns as a user would, and checks their output. */
import { expect, test } from "vitest";
import { runProgram } from "./house/run-program.ts";

test.each([
  ["parameter-server", "y = 3.0 x + 2.0\n"],
  ["actor-tree", "sums: 821 832\nworkers replaced: 1 1\n"],
  ["limit-pending", "2537 digits, at most 20 tasks pending\n"],
  ["checkpoint", "40 steps, sum 820, resumed at step 20\n"],
  ["train-pipeline", "loss 16.615, after 300 epochs 0.029\nthe losses of one process: the same\n"],
  ["producer-consumer", '"page" 60 times, "1" 32 times\n'],
])("%s", async (name, output) => {
  const run = await runProgram([`examples/${name}.ts`]);
  expect(run).toMatchObject({ exitCode: 0, stdout: output });
});
