import * as serve from "shoal/serve";

class Words {
  split(text: string) {
    return text.split(" ");
  }
  async *spell(word: string) {
    yield* word.toUpperCase();
  }
}
class Counts {
  count(words: readonly string[]) {
    return words.length;
  }
}
class Both {
  #words: serve.Handle<typeof Words>;
  #counts: serve.Handle<typeof Counts>;
  constructor(words: serve.Handle<typeof Words>, counts: serve.Handle<typeof Counts>) {
    this.#words = words;
    this.#counts = counts;
  }
  async call(text: string) {
    const words = this.#words.split.remote(text);
    return this.#counts.count.remote(words);
  }
}

const app = serve.deployment(Both).bind(serve.deployment(Words).bind(), serve.deployment(Counts).bind());
// Handles alone call it: no proxy listens.
await serve.start({ httpOptions: { location: "disabled" } });
const handle = await serve.run(app, { routePrefix: null });
console.log(await handle.remote("to be or not to be"));
const words = await serve.getDeploymentHandle<typeof Words>("Words");
for await (const letter of words.spell.remote("ray")) console.log(letter);
await serve.shutdown();
