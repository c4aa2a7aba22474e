import * as serve from "shoal/serve";

class Shouter implements serve.llm.LLMEngine {
  async *chat({ messages, maxTokens }: serve.llm.ChatRequest, signal: AbortSignal) {
    const words = String(messages.at(-1)?.content).toUpperCase().split(" ");
    if (words.includes("SECRET")) throw serve.llm.LLMRequestError.of("I do not talk of that", { param: "messages" });
    for (const word of words.slice(0, maxTokens)) {
      if (signal.aborted) return;
      yield { text: `${word} ` };
    }
    yield { finishReason: "stop" as const, usage: { promptTokens: words.length, completionTokens: words.length } };
  }
}

const app = serve.llm.buildOpenAIApp({ models: [{ id: "lab/shouter", engine: Shouter, deployment: { numReplicas: 2 } }] });
const { address } = await serve.start({ httpOptions: { port: 0 } });
await serve.run(app);
for (const content of ["hear me", "a secret"]) {
  const body = JSON.stringify({ model: "lab/shouter", messages: [{ role: "user", content }] });
  const response = await fetch(`${address}/v1/chat/completions`, { method: "POST", body });
  const answer = (await response.json()) as { choices?: { message: { content: string } }[]; error?: { message: string } };
  console.log(answer.choices?.[0]?.message.content ?? answer.error?.message);
}
await serve.shutdown();
