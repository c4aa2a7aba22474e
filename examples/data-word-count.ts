/**
 * Counts the words of all Markdown files below a folder with Data: lines are read by tasks, words are counted where they are read, and only counts travel.
 *
 *   node examples/data-word-count.ts [FOLDER]
 *
 * Without a folder it counts Shoal's own documentation.
 */
import { join } from "node:path";
import { shutdown } from "shoal";
import * as data from "shoal/data";

const TOP = 10;

async function main(): Promise<void> {
  const folder = process.argv[2] ?? join(import.meta.dirname, "..", "docs");
  const lines = data.readText(join(folder, "**", "*.md"));
  const words = lines.flatMap(({ text }) => (text.toLowerCase().match(/\p{Letter}+/gu) ?? []).map((word) => ({ word })));
  const counts = await words.groupBy("word").aggregate({ count: data.count() }).materialize();
  console.log(`${await counts.sum("count")} words, ${await counts.count()} different ones`);
  for (const { word, count } of await counts.sort(["count", "word"], { descending: [true, false] }).take(TOP))
    console.log(`${String(count).padStart(8)}  ${word}`);
}

await main().finally(shutdown);
