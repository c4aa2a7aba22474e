/** Values that cannot travel are refused at submission, with the path to them. */
import { AsyncLocalStorage } from "node:async_hooks";
import net from "node:net";
import { Readable } from "node:stream";
import { run } from "./run.ts";
import { refuses } from "./cases.ts";

const socket = new net.Socket();
const database = { pool: [{ connection: socket }] };
refuses(
  "a socket inside an object",
  () => run(() => database.pool.length),
  /^function anonymous \(.*refusals\.\w+:\d+\) cannot be sent to a worker:\n.*captured `database` → \.pool → \[0\] → \.connection \(Socket.*\) cannot be sent\n.*create `database` inside the function/,
);

const stream = Readable.from([1]);
refuses("a stream", () => run(() => stream), /captured `stream` \(Readable/);

const promise = Promise.resolve(1);
refuses("a promise", () => run(() => promise), /captured `promise` \(Promise\) cannot be sent/);

const storage = new AsyncLocalStorage();
refuses("an AsyncLocalStorage", () => run(() => storage), /captured `storage` \(AsyncLocalStorage\) cannot be sent/);

const controller = new AbortController();
refuses("an AbortController", () => run(() => controller), /captured `controller` \(AbortController\) cannot be sent/);

const running = (function* () {
  yield 1;
})();
refuses("a running generator", () => run(() => running), /captured `running` /);

const timer = setTimeout(() => {}, 0);
refuses("a timer", () => run(() => timer), /captured `timer` \(Timeout\) cannot be sent/);

const sharedMemory = new Int32Array(new SharedArrayBuffer(8));
const transferred = new Uint8Array(8);
structuredClone(transferred.buffer, { transfer: [transferred.buffer] });
const holdsTransferred = { rows: [{ bytes: transferred }, { buffer: transferred.buffer }] };
refuses(
  "memory that was transferred away",
  () => run(() => holdsTransferred.rows.length),
  /captured `holdsTransferred` → \.rows → \[0\] → \.bytes \(Uint8Array\) cannot be sent: its buffer was transferred away/,
);
refuses(
  "an argument whose memory was transferred away",
  () => run((value: unknown) => value, { buffer: transferred.buffer }),
  /the arguments of anonymous → \[0\] → \.buffer \(ArrayBuffer\) cannot be sent: its buffer was transferred away/,
);
const boxed: unknown = Object(Symbol("boxed"));
refuses("an object around a symbol", () => run(() => boxed), /captured `boxed` \(Symbol object\) cannot be sent/);
refuses("shared memory", () => run(() => sharedMemory[0]), /captured `sharedMemory` \(SharedArrayBuffer\) cannot be sent/);

refuses(
  "the `arguments` of an enclosing function",
  () =>
    (function (..._values: number[]) {
      // biome-ignore lint/complexity/noArguments: it is what must be refused.
      return run(() => arguments.length);
    })(1),
  /captures `arguments` of the enclosing function/,
);

class Keeper {
  #kept = 1;
  static reader(): (keeper: Keeper) => number {
    return (keeper) => keeper.#kept;
  }
}
refuses("a private name away from its class", () => run(Keeper.reader()), /private name #kept/);

class Base {
  greet(): string {
    return "base";
  }
}
class Derived extends Base {
  override greet(): string {
    return super.greet();
  }
}
refuses("a method with `super` away from its class", () => run(Derived.prototype.greet), /uses `super`/);

const innermost = (): boolean => socket.destroyed;
const middle = (): boolean => innermost();
refuses(
  "the path leads through functions",
  () => run(() => middle()),
  /captured `middle` → captured `innermost` → captured `socket` \(Socket/,
);

refuses("a socket as argument", () => run((value: unknown) => value, { inner: socket }), /\.inner \(Socket\) cannot be sent/);
refuses(
  "a socket as result",
  () => run(() => import("node:net").then((module) => ({ made: new module.Socket() }))),
  /\.made \(Socket\) cannot be sent/,
);
