/**
 * A chat with a page in the browser: a model behind OpenAI's API, and before it an application whose page shows the answer word by word, by server-sent events.
 *
 *     node examples/serve-chat.ts            starts it, asks it something, ends it
 *     node examples/serve-chat.ts --stay     stays on port 8000: open http://127.0.0.1:8000
 *
 * The model only repeats its input. A real one: `engine: serve.llm.upstream({ url: "http://127.0.0.1:11434/v1", model: "qwen3:4b" })`.
 */
import * as serve from "shoal/serve";

const PAGE = `<!doctype html><title>Chat</title>
<form><input name="text" autofocus size="60"></form><pre id="log"></pre>
<script>
const log = document.getElementById("log");
document.forms[0].onsubmit = (event) => {
  event.preventDefault();
  const { text } = event.target;
  log.textContent += "\\n> " + text.value + "\\n";
  const source = new EventSource("/say?text=" + encodeURIComponent(text.value));
  source.onmessage = ({ data }) => (log.textContent += JSON.parse(data));
  source.addEventListener("end", () => source.close());
  text.value = "";
};
</script>`;

class Chat {
  readonly #model: serve.Handle<typeof serve.llm.LLMServer>;

  constructor(model: serve.Handle<typeof serve.llm.LLMServer>) {
    this.#model = model;
  }

  fetch(request: Request): Response {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/") return new Response(PAGE, { headers: { "content-type": "text/html;charset=utf-8" } });
    if (pathname !== "/say") return new Response("there is no such page", { status: 404 });
    return new Response(ReadableStream.from(this.#events(searchParams.get("text") ?? "")), {
      headers: { "content-type": "text/event-stream" },
    });
  }

  /** Ends, with the model's work, when the browser closes the stream. */
  async *#events(text: string): AsyncGenerator<Uint8Array, void, undefined> {
    const encoder = new TextEncoder();
    const sampling = {
      maxTokens: 200,
      temperature: undefined,
      topP: undefined,
      stop: [],
      seed: undefined,
      presencePenalty: undefined,
      frequencyPenalty: undefined,
      extra: {},
    };
    for await (const token of this.#model.chat.remote({ messages: [{ role: "user", content: text }], ...sampling }))
      if (token.text !== undefined) yield encoder.encode(`data: ${JSON.stringify(token.text)}\n\n`);
    yield encoder.encode("event: end\ndata:\n\n");
  }
}

const stays = process.argv.includes("--stay");
const Model = serve
  .deployment(serve.llm.LLMServer, { maxOngoingRequests: 100 })
  .bind("parrot", serve.llm.deterministic({ tokenDelayMs: stays ? 120 : 1 }));
const { address } = await serve.start({ httpOptions: { port: stays ? 8000 : 0 } });
await serve.run(serve.deployment(Chat, { maxOngoingRequests: 100 }).bind(Model), { name: "chat" });

if (stays) console.log(address);
else {
  const response = await fetch(`${address}/say?text=how+are+you`);
  process.stdout.write(await response.text());
  await serve.shutdown();
}
