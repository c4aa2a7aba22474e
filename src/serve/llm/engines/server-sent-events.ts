/** The data of server-sent events as they come, however the bytes are cut. Fields other than `data` are not needed here. */

/** An event that is longer is no answer of a model. */
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024;

/** @throws RangeError for an event without an end */
export async function* serverSentEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let left = "";
  let data: string[] = [];
  for await (const piece of bytes) {
    left += decoder.decode(piece, { stream: true });
    // A line end may be cut in two: the \r waits for its \n.
    const lines = left.split(/\r\n|\n|\r(?!$)/);
    left = lines.pop() as string;
    if (left.length > EVENT_CHARACTERS_MAX)
      throw new RangeError(`Cannot read an event: it has more than ${EVENT_CHARACTERS_MAX} characters: received ${left.length}`);
    for (const line of lines) {
      if (line === "" && data.length > 0) {
        yield data.join("\n");
        data = [];
      } else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    }
  }
  // Servers that close without the empty line have said it all the same.
  if (left.startsWith("data:")) data.push(left.slice(left[5] === " " ? 6 : 5).trimEnd());
  if (data.length > 0) yield data.join("\n");
}
