/**
 * Producers and consumers with a queue between them: two tasks read "pages", three actors count their words, and the queue keeps the readers from
 * running ahead of the counters.
 */
import { get, remote, shutdown } from "shoal";
import { ActorPool, Queue } from "shoal/util";

const PAGES_EACH = 30;

const read = remote(async (pages: Queue<string>, reader: number): Promise<void> => {
  for (let page = 0; page < PAGES_EACH; page += 1) await pages.put(`reader ${reader} page ${page}`);
});

class Counter {
  readonly #counts = new Map<string, number>();

  /** Counts until the queue is shut down. */
  async count(pages: Queue<string>): Promise<Map<string, number>> {
    for await (const page of pages) {
      for (const word of page.split(" ")) this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
    }
    return this.#counts;
  }
}

const CounterActor = remote(Counter, { numCpus: 0 });
const pages = new Queue<string>({ maxSize: 8 });
const counters = [CounterActor.remote(), CounterActor.remote(), CounterActor.remote()];
// A pool gathers the actors' counts; each counts once, all at the same time.
const pool = new ActorPool(counters);
for (const _ of counters) pool.submit((counter, input: Queue<string>) => counter.count.remote(input), pages);

await get([read.remote(pages, 1), read.remote(pages, 2)]);
await pages.shutdown();

const total = new Map<string, number>();
while (pool.hasNext()) {
  for (const [word, count] of await pool.getNextUnordered<Map<string, number>>()) total.set(word, (total.get(word) ?? 0) + count);
}
console.log(`"page" ${total.get("page")} times, "1" ${total.get("1")} times`);
await shutdown();
