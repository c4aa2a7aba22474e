/** Server-sent events: 1,000 tokens to each of 100 clients at a time, one chunk a token. */
import { deployment } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { answerBytes, loadOf, SERVE_LIMIT_MS, whileServed } from "../web-load.ts";

const TOKENS_COUNT = 1000;

class Tokens {
  fetch() {
    const encoder = new TextEncoder();
    const events = async function* () {
      for (let index = 0; index < 1000; index += 1) yield encoder.encode(`data: token-${index}\n\n`);
    };
    return new Response(ReadableStream.from(events()), { headers: { "content-type": "text/event-stream" } });
  }
}

export const figure: DriverFigure = {
  where: "driver",
  program: "wrk",
  name: "serve-sse",
  title: "tokens to 100 clients, 1,000 each",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(5),
  fastMode: "told",
  limitMs: SERVE_LIMIT_MS,
  note: "counted by bytes, of which a whole stream was counted before: streams that are under way at the end count in part",
  run: (plan) =>
    whileServed(deployment(Tokens, { maxOngoingRequests: 1000 }).bind(), async (address) => {
      const bytes = await answerBytes(address, `token-${TOKENS_COUNT - 1}`);
      const { bytesPerSecond } = await loadOf(`${address}/`, { connections: 100, plan });
      return { samples: [(bytesPerSecond / bytes) * TOKENS_COUNT] };
    }),
};
