/**
 * Training input: a table on disk is streamed to two trainers, in parts of equally many rows that are mixed on their way, epoch after epoch. The trainers fit a line by gradient
 * descent and average their weights after each epoch.
 *
 *   node examples/data-training.ts [EPOCHS]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { get, remote, shutdown } from "shoal";
import * as data from "shoal/data";

const TRAINERS = 2;
const ROWS = 40_000;
const RATE = 0.1;

interface Example {
  a: number;
  b: number;
  label: number;
}
/** Weights for `a`, for `b`, and the constant. */
type Weights = [number, number, number];

class Trainer {
  readonly #part: data.DataIterator<Example>;
  #weights: Weights = [0, 0, 0];

  constructor(part: data.DataIterator<Example>) {
    this.#part = part;
  }

  /** Goes through its part of the data once. */
  async epoch(weights: Weights): Promise<{ weights: Weights; loss: number; rows: number }> {
    this.#weights = weights;
    let [loss, rows] = [0, 0];
    for await (const { a, b, label } of this.#part.iterBatches({ batchSize: 256, localShuffleBufferSize: 4096, localShuffleSeed: 1 })) {
      const gradient: Weights = [0, 0, 0];
      for (let i = 0; i < a.length; i += 1) {
        const [x, y] = [a[i] ?? 0, b[i] ?? 0];
        const error = this.#weights[0] * x + this.#weights[1] * y + this.#weights[2] - (label[i] ?? 0);
        loss += error * error;
        gradient[0] += error * x;
        gradient[1] += error * y;
        gradient[2] += error;
      }
      rows += a.length;
      this.#weights = this.#weights.map((weight, i) => weight - (RATE * 2 * (gradient[i] ?? 0)) / a.length) as Weights;
    }
    return { weights: this.#weights, loss, rows };
  }
}

async function main(): Promise<void> {
  const epochs = Number(process.argv[2] ?? 3);
  const folder = mkdtempSync(join(tmpdir(), "shoal-training-"));
  try {
    const made = data.range(ROWS).mapBatches(({ id }) => {
      const a = Float64Array.from(id, (value) => ((value * 7919) % 1000) / 1000);
      const b = Float64Array.from(id, (value) => ((value * 104_729) % 1000) / 1000);
      return { a, b, label: a.map((x, i) => 3 * x - 2 * (b[i] ?? 0) + 1) };
    });
    await made.writeParquet(folder);

    const examples = data.readParquet<Example>(folder).mapBatches(({ a, b, label }) => ({ a: a.map((x) => x - 0.5), b, label }));
    const parts = await examples.streamingSplit(TRAINERS, { equal: true });
    const trainers = parts.map((part) => remote(Trainer).remote(part));
    let weights: Weights = [0, 0, 0];
    for (let epoch = 1; epoch <= epochs; epoch += 1) {
      const results = await get(trainers.map((trainer) => trainer.epoch.remote(weights)));
      const rows = results.reduce((sum, result) => sum + result.rows, 0);
      const loss = results.reduce((sum, result) => sum + result.loss, 0) / rows;
      weights = weights.map((_, i) => results.reduce((sum, result) => sum + (result.weights[i] ?? 0), 0) / TRAINERS) as Weights;
      console.log(`epoch ${epoch}: ${rows} rows, loss ${loss.toFixed(5)}`);
    }
    console.log(`label = ${weights[0].toFixed(2)} * (a - 0.5) + ${weights[1].toFixed(2)} * b + ${weights[2].toFixed(2)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

await main().finally(shutdown);
