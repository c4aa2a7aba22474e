/** Streams: what generators give, as tasks and as methods. */
import { cancel, exactly, get, type ObjectRef, type ObjectRefGenerator, put, type RemoteFunction, remote, wait } from "./api.ts";

declare const numberRef: ObjectRef<number>;

// --- Tasks -------------------------------------------------------------------------------------------------------------

function* upTo(count: number): Generator<number, string> {
  for (let index = 0; index < count; index += 1) yield index;
  return "the end";
}
const numbers = remote(upTo);
exactly<RemoteFunction<[count: number], Generator<number, string>>>()(numbers);
exactly<ObjectRefGenerator<number>>()(numbers.remote(3));
numbers.remote(numberRef);
// @ts-expect-error: an argument of another type
numbers.remote("3");
exactly<ObjectRefGenerator<number>>()(numbers.options({ highWaterMark: 1, numReturns: "streaming" }).remote(3));

async function* words(): AsyncGenerator<{ word: string }> {
  yield { word: "a" };
}
exactly<ObjectRefGenerator<{ word: string }>>()(remote(words).remote());

// Generators that are declared by their interface.
exactly<ObjectRefGenerator<number>>()(remote((count: number): IterableIterator<number> => upTo(count)).remote(1));
exactly<ObjectRefGenerator<string>>()(remote((): AsyncIterable<string> => new ReadableStream<string>()).remote());

// A yielded reference or promise is its value; in a box it stays one.
exactly<ObjectRefGenerator<number>>()(remote((): Generator<ObjectRef<number>> => boxed()).remote());
exactly<ObjectRefGenerator<string>>()(remote((): Generator<Promise<string>> => boxed()).remote());
exactly<ObjectRefGenerator<[ObjectRef<number>]>>()(remote((): Generator<[ObjectRef<number>]> => boxed()).remote());
declare function boxed<T>(): Generator<T>;

// A function that is no generator streams by the option.
exactly<ObjectRefGenerator<string>>()(remote((): string[] => ["a"], { numReturns: "streaming" }).remote());
exactly<ObjectRefGenerator<number>>()(remote(async () => new Set([1]), { numReturns: "streaming" }).remote());
exactly<ObjectRef<string[]>>()(remote((): string[] => ["a"]).remote());
exactly<ObjectRefGenerator<never>>()(remote(() => 5, { numReturns: "streaming" }).remote());
exactly<ObjectRefGenerator<any>>()(remote((): any => 5, { numReturns: "streaming" }).remote());
// @ts-expect-error: another word
remote((): string[] => ["a"], { numReturns: "stream" });

// --- Reading -------------------------------------------------------------------------------------------------------------

const stream = numbers.remote(3);
for await (const value of stream) exactly<number>()(value);
for await (const { ref } of stream.refs()) exactly<ObjectRef<number>>()(ref);
exactly<Promise<IteratorResult<number, undefined>>>()(stream.next());
await using _stopped = numbers.remote(3);

exactly<Promise<[ready: ObjectRefGenerator<number>[], pending: ObjectRefGenerator<number>[]]>>()(wait([stream, stream]));
cancel(stream);
// @ts-expect-error: many values are no value
await get(stream);
// @ts-expect-error: it is no reference
numbers.remote(stream);
export const refOfStream = put(stream.next);

// --- Methods -------------------------------------------------------------------------------------------------------------

class Reader {
  *lines(path: string) {
    yield path;
  }
  async *slowLines(path: string) {
    yield [path] as [string];
  }
  all(): string[] {
    return [];
  }
}
const reader = remote(Reader).remote();
exactly<ObjectRefGenerator<string>>()(reader.lines.remote("a"));
exactly<ObjectRefGenerator<[string]>>()(reader.slowLines.options({ highWaterMark: Number.POSITIVE_INFINITY }).remote("a"));
exactly<ObjectRefGenerator<string>>()(reader.all.options({ numReturns: "streaming" }).remote());
