/**
 * Answers from documents: an embedder that works in batches, a retriever that knows the passages, and a model of language that is given the best of them.
 *
 *     node examples/serve-rag.ts            starts it, asks it two questions, ends it
 *     node examples/serve-rag.ts --stay     stays on port 8000: curl 'http://127.0.0.1:8000/?q=how+long+is+the+warranty'
 *
 * The embedder counts words and the model repeats its input, so the program needs no download. Real ones take their places without another
 * change: an embedder on transformers.js (docs/serve-models.md), and `engine: serve.llm.upstream({ url: "http://127.0.0.1:11434/v1", model:
 * "qwen3:4b" })`.
 */
import * as serve from "shoal/serve";

const PASSAGES = [
  "The warranty of a bicycle lasts five years, and two years for its battery.",
  "Parcels are sent within one day. Large parcels take three days more.",
  "You may return what you have bought within thirty days, unused and with the receipt.",
  "The shop in Ghent is open from nine to six, and closed on Mondays.",
];
const DIMENSIONS = 256;
const COMMON = new Set("a an and are by can do for from how i in is it its may of on or the to when where with within you your".split(" "));

class Embedder {
  /** Texts of several requests are embedded together: a model on a GPU takes as long for thirty of them as for one. */
  embed = serve.batch((texts: string[]): Float32Array[] => texts.map((text) => wordVector(text)), {
    maxBatchSize: 32,
    batchWaitTimeoutMs: 2,
  });
}

/** Words by their hashes, at length one: the product of two such vectors is their likeness. */
function wordVector(text: string): Float32Array {
  const vector = new Float32Array(DIMENSIONS);
  for (const word of text.toLowerCase().match(/[a-z]{2,}/g) ?? []) {
    if (COMMON.has(word)) continue;
    let hash = 0;
    for (const letter of word.slice(0, 6)) hash = (Math.imul(hash, 31) + letter.charCodeAt(0)) >>> 0;
    vector[hash % DIMENSIONS]! += 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

class Retriever {
  readonly #embedder: serve.Handle<typeof Embedder>;
  readonly #known: Promise<{ text: string; vector: Float32Array }[]>;

  constructor(embedder: serve.Handle<typeof Embedder>, passages: readonly string[]) {
    this.#embedder = embedder;
    this.#known = Promise.all(passages.map(async (text) => ({ text, vector: await embedder.embed.remote(text) })));
  }

  async find(question: string, count: number): Promise<string[]> {
    const [vector, known] = await Promise.all([this.#embedder.embed.remote(question), this.#known]);
    const likeness = (other: Float32Array): number => other.reduce((sum, value, index) => sum + value * vector[index]!, 0);
    return known
      .map(({ text, vector: other }) => ({ text, score: likeness(other) }))
      .sort((one, other) => other.score - one.score)
      .slice(0, count)
      .filter(({ score }) => score > 0)
      .map(({ text }) => text);
  }
}

class Answers {
  readonly #retriever: serve.Handle<typeof Retriever>;
  readonly #model: serve.Handle<typeof serve.llm.LLMServer>;

  constructor(retriever: serve.Handle<typeof Retriever>, model: serve.Handle<typeof serve.llm.LLMServer>) {
    this.#retriever = retriever;
    this.#model = model;
  }

  async fetch(request: Request): Promise<Response> {
    const question = new URL(request.url).searchParams.get("q") ?? "";
    if (question === "") return Response.json({ error: "a question is needed: /?q=..." }, { status: 400 });
    const sources = await this.#retriever.find.remote(question, 1);
    if (sources.length === 0) return Response.json({ answer: "I do not know.", sources });
    const content = `Answer from these passages alone.\n${sources.join("\n")}\nQuestion: ${question}`;
    const sampling = { maxTokens: 200, temperature: 0, topP: undefined, stop: [], seed: undefined };
    const penalties = { presencePenalty: undefined, frequencyPenalty: undefined, extra: {} };
    let answer = "";
    // A client that leaves ends the model's work as well.
    for await (const { text } of this.#model.chat.remote({ messages: [{ role: "user", content }], ...sampling, ...penalties }))
      answer += text ?? "";
    return Response.json({ answer, sources });
  }
}

const stays = process.argv.includes("--stay");
const Model = serve.deployment(serve.llm.LLMServer, { maxOngoingRequests: 100 }).bind("parrot", serve.llm.deterministic({}));
const Vectors = serve.deployment(Embedder, { maxOngoingRequests: 100 }).bind();
const Found = serve.deployment(Retriever, { maxOngoingRequests: 100 }).bind(Vectors, PASSAGES);
const { address } = await serve.start({ httpOptions: { port: stays ? 8000 : 0 } });
await serve.run(serve.deployment(Answers, { maxOngoingRequests: 100 }).bind(Found, Model), { name: "rag" });

if (stays) console.log(`${address}/?q=how+long+is+the+warranty`);
else {
  for (const question of ["How long does the warranty of the battery last?", "Who wrote Hamlet?"]) {
    const response = await fetch(`${address}/?q=${encodeURIComponent(question)}`);
    console.log(response.status, await response.json());
  }
  await serve.shutdown();
}
