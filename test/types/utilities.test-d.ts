/** `shoal/util`: what its classes infer from the functions and values that they are given. */
import { ActorPool, Pool, Queue } from "../../src/util/index.ts";
import { type ActorHandle, exactly, remote } from "./api.ts";

class Parser {
  parse(text: string, strict = true): { length: number } {
    return { length: strict ? text.length : 0 };
  }
  async count(): Promise<number> {
    return 0;
  }
}
declare const handles: ActorHandle<Parser>[];

// ---- ActorPool

const actorPool = new ActorPool(handles);
exactly<ActorPool<ActorHandle<Parser>>>()(actorPool);
exactly<AsyncGenerator<{ length: number }, void, undefined>>()(
  actorPool.map(
    (actor, value) => {
      exactly<ActorHandle<Parser>>()(actor);
      exactly<string>()(value);
      return actor.parse.remote(value);
    },
    ["a", "b"],
  ),
);
exactly<AsyncGenerator<number, void, undefined>>()(actorPool.mapUnordered((actor) => actor.count.remote(), new Set([1])));
exactly<AsyncGenerator<string, void, undefined>>()(actorPool.map(async (actor, value) => `${value}${await actor.count.remote()}`, [1]));
exactly<ActorHandle<Parser> | undefined>()(actorPool.popIdle());
exactly<Promise<number>>()(actorPool.getNext<number>({ timeoutMs: 5, ignoreIfTimedOut: true }));
actorPool.submit((actor, value) => actor.parse.remote(value), "text");
// @ts-expect-error: a number is no text
actorPool.map((actor, value) => actor.parse.remote(value), [1]);
// @ts-expect-error: a value is needed for what the call takes
actorPool.submit((actor, value: string) => actor.parse.remote(value), 5);
// @ts-expect-error: a Parser's method is no handle
new ActorPool([new Parser()]);
new ActorPool([remote(Parser).remote()]);

// ---- Pool

const pool = new Pool({ processes: 2, initializer: (name: string) => name, initializerArgs: ["a"] });
exactly<Promise<string[]>>()(pool.map((value) => value.toFixed(2), [1, 2]));
exactly<Promise<number[]>>()(pool.map(async (value: string) => value.length, ["a"], { chunkSize: 2 }));
exactly<Promise<boolean[]>>()(
  pool.starmap(
    (left: number, right: string) => String(left) === right,
    [
      [1, "1"],
      [2, "2"],
    ],
  ),
);
exactly<AsyncGenerator<number, void, undefined>>()(pool.imap((value: string) => value.length, ["a"]));
exactly<AsyncGenerator<number, void, undefined>>()(pool.imapUnordered(async (value: string) => value.length, ["a"]));
exactly<Promise<number>>()(pool.apply((left: number, right: number) => left * right, [2, 3]));
exactly<Promise<string>>()(pool.apply(() => "text"));
// @ts-expect-error: the arguments are missing
void pool.apply((left: number) => left);
// @ts-expect-error: text is no number
void pool.map((value: number) => value, ["a"]);
// @ts-expect-error: there is no such option
new Pool({ size: 2 });

// ---- Queue

const queue = new Queue<{ id: number }>({ maxSize: 5, actorOptions: { name: "work" } });
exactly<Promise<{ id: number }>>()(queue.get({ timeoutMs: 5 }));
exactly<Promise<{ id: number }[]>>()(queue.getNowaitBatch(2));
exactly<Promise<void>>()(queue.putNowaitBatch([{ id: 1 }]));
exactly<Promise<boolean>>()(queue.full());
for await (const item of queue) exactly<{ id: number }>()(item);
// @ts-expect-error: text is no item
void queue.put("text");
void remote((input: Queue<{ id: number }>) => input.size()).remote(queue);
