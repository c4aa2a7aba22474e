/** Server-sent events: 1,000 tokens to each of 100 clients at a time, one chunk a token. */
import { deployment } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { loadOf, whileServed } from "../web-load.ts";

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
  name: "serve-sse",
  title: "tokens to 100 clients, 1,000 each",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(10),
  floor: ratioAtLeast(5),
  note: "counts whole streams",
  run: (plan) =>
    whileServed(deployment(Tokens, { maxOngoingRequests: 1000 }).bind(), async (address) => {
      const longer = { ...plan, windowMs: plan.windowMs * 2 };
      const { requestsPerSecond } = await loadOf(`${address}/`, { connections: 100, plan: longer });
      return { samples: [requestsPerSecond * TOKENS_COUNT] };
    }),
};
