/** Responses that are streams of server-sent events, for all routes of OpenAI's API. */

const EVENTS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", "x-accel-buffering": "no" };

/** @param events whole events, each with its empty line @param left called when the client leaves */
export function eventStream(events: AsyncGenerator<string, void, undefined>, left: () => void): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await events.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: () => {
      left();
      return events.return(undefined).then(() => {});
    },
  });
  return new Response(body, { headers: EVENTS });
}
