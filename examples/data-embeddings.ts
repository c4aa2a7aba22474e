/**
 * Embeddings by a pool of actors: each actor loads a model once and embeds batch after batch; then the nearest texts to a question are found.
 *
 *   node examples/data-embeddings.ts [QUESTION]
 *
 * The texts are the lines of Shoal's documentation. The model is the simplest there is, words hashed into a vector, so that the example needs no download: put your own where
 * `loadModel` is, such as a pipeline of `@huggingface/transformers`.
 */
import { join } from "node:path";
import { NdArray, shutdown } from "shoal";
import * as data from "shoal/data";

const DIMENSIONS = 256;
const QUESTION = "What happens to the rows when a worker dies?";

type Model = (text: string) => Float32Array;

/** Long words, and pairs of them, hashed: texts with the same words point the same way. */
function loadModel(): Model {
  return (text) => {
    const vector = new Float32Array(DIMENSIONS);
    const words = text.toLowerCase().match(/\p{Letter}{5,}/gu) ?? [];
    for (const [i, word] of words.entries())
      for (const token of [word, `${word} ${words[i + 1] ?? ""}`]) {
        let hash = 0;
        for (const character of token) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
        const place = hash % DIMENSIONS;
        vector[place] = (vector[place] ?? 0) + 1;
      }
    const length = Math.hypot(...vector) || 1;
    return vector.map((value) => value / length);
  };
}

/** Lives in a separate process, created once for many batches. */
class Embedder {
  readonly #model: Model = loadModel();

  call({ text }: data.Batch<{ text: string }>) {
    const vectors = new Float32Array(text.length * DIMENSIONS);
    for (let i = 0; i < text.length; i += 1) vectors.set(this.#model(text.at(i) ?? ""), i * DIMENSIONS);
    return { text, embedding: new NdArray(vectors, [text.length, DIMENSIONS]) };
  }
}

async function main(): Promise<void> {
  const question = process.argv[2] ?? QUESTION;
  const asked = loadModel()(question);
  const lines = data.readText(join(import.meta.dirname, "..", "docs", "*.md")).filter(({ text }) => text.length > 80);
  const embedded = lines.mapBatches(Embedder, { batchSize: 128, concurrency: { min: 1, max: 2 } });
  const scored = embedded.map(({ text, embedding }) => {
    const vector = embedding.data as Float32Array;
    return { text, score: vector.reduce((sum, value, i) => sum + value * (asked[i] ?? 0), 0) };
  });
  console.log(question);
  for (const { text, score } of await scored.sort("score", { descending: true }).take(3))
    console.log(`${score.toFixed(2)}  ${text.slice(0, 100)}`);
}

await main().finally(shutdown);
