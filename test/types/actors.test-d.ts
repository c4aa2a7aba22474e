/** Actors: constructors, handles and their methods. */
import {
  type ActorClass,
  type ActorHandle,
  exactly,
  get,
  getActor,
  kill,
  type MethodsOf,
  type ObjectRef,
  type ObjectRefGenerator,
  put,
  type RemoteFunction,
  type RemoteMethod,
  ready,
  remote,
  terminate,
} from "./api.ts";

declare const numberRef: ObjectRef<number>;
declare const textRef: ObjectRef<string>;

class Counter {
  static made = 0;
  static create(): Counter {
    return new Counter(0);
  }

  readonly step: number;
  label = "counter";
  protected inner = 1;
  #count = 0;

  constructor(start: number, step = 1) {
    this.#count = start;
    this.step = step;
  }

  get count(): number {
    return this.#count;
  }
  set count(value: number) {
    this.#count = value;
  }

  increment(by = this.step): number {
    return (this.#count += by);
  }
  async read(): Promise<{ count: number }> {
    return { count: this.#hidden() };
  }
  parts(): [number, string] {
    return [this.#count, this.label];
  }
  reset(): void {
    this.#count = this.secret();
  }
  wrap(ref: { ref: ObjectRef<number> }): ObjectRef<number>[] {
    return [ref.ref];
  }
  direct(ref: ObjectRef<number>): PromiseLike<number> {
    return ref;
  }
  peer(other: ActorHandle<Counter>): ActorHandle<Counter> {
    return other;
  }
  anything(value: any): any {
    return value;
  }
  fail(): never {
    throw new Error("always");
  }
  *stream(): Generator<number> {
    yield this.inner;
  }
  [Symbol.dispose](): void {}
  protected guarded(): number {
    return this.inner;
  }
  private secret(): number {
    return this.guarded();
  }
  #hidden(): number {
    return this.#count;
  }
}

// --- Constructors ----------------------------------------------------------------------------------------------------------

const RemoteCounter = remote(Counter);
exactly<ActorClass<typeof Counter>>()(RemoteCounter);
const counter = RemoteCounter.remote(0);
exactly<ActorHandle<Counter>>()(counter);
RemoteCounter.remote(numberRef, 2);
RemoteCounter.remote(put(1), numberRef);
// @ts-expect-error: an argument is missing
RemoteCounter.remote();
// @ts-expect-error: an argument of another type
RemoteCounter.remote("0");
// @ts-expect-error: a reference of another type
RemoteCounter.remote(textRef);
// @ts-expect-error: one argument too many
RemoteCounter.remote(1, 2, 3);

class Lazy {
  refs: ObjectRef<number>[];
  constructor(refs: ObjectRef<number>[], note?: string) {
    this.refs = note === undefined ? refs : [];
  }
  size(): number {
    return this.refs.length;
  }
}
exactly<ObjectRef<number>>()(remote(Lazy).remote([numberRef]).size.remote());
class Direct {
  constructor(readonlyRef: ObjectRef<number>) {
    void readonlyRef;
  }
}
// @ts-expect-error: a top-level parameter that is declared as a reference: declare [ref] or { ref }
remote(Direct).remote(numberRef);

class Empty {}
exactly<ActorHandle<Empty>>()(remote(Empty).remote());

class Box<T> {
  #value: T;
  constructor(value: T) {
    this.#value = value;
  }
  swap(value: T): T {
    const old = this.#value;
    this.#value = value;
    return old;
  }
}
exactly<ActorHandle<Box<string>>>()(remote(Box<string>).remote("a"));
exactly<ObjectRef<string>>()(
  remote(Box<string>)
    .remote("a")
    .swap.remote(textRef),
);
// @ts-expect-error: fixed by the instantiation expression
remote(Box<string>).remote(5);

abstract class Shape {
  abstract area(): number;
}
// @ts-expect-error: an abstract class has no instances
remote(Shape);
class Singleton {
  static readonly only = new Singleton();
  private constructor() {}
}
// @ts-expect-error: nobody else can make one
remote(Singleton);

class Child extends Counter {
  override increment(by = 2): number {
    return super.increment(by);
  }
  extra(text: string): string {
    return text;
  }
}
const child = remote(Child).remote(0);
exactly<ObjectRef<number>>()(child.increment.remote());
exactly<ObjectRef<{ count: number }>>()(child.read.remote());
exactly<ObjectRef<string>>()(child.extra.remote("a"));
export const asParent: ActorHandle<Counter> = child;
// @ts-expect-error: a parent lacks the child's methods
export const asChild: ActorHandle<Child> = counter;

// --- Methods -----------------------------------------------------------------------------------------------------------------

exactly<RemoteMethod<[by?: number | undefined], number>>()(counter.increment);
exactly<ObjectRef<number>>()(counter.increment.remote());
exactly<ObjectRef<number>>()(counter.increment.remote(numberRef));
exactly<ObjectRef<number>>()(counter.increment.remote(counter.increment.remote(5)));
// @ts-expect-error: an argument of another type
counter.increment.remote("5");
exactly<ObjectRef<{ count: number }>>()(counter.read.remote());
exactly<ObjectRef<void>>()(counter.reset.remote());
exactly<ObjectRef<ObjectRef<number>[]>>()(counter.wrap.remote({ ref: numberRef }));
// @ts-expect-error: declare [ref] or { ref }
counter.direct.remote(numberRef);
exactly<ObjectRef<any>>()(counter.anything.remote({ deep: numberRef }));
exactly<ObjectRef<never>>()(counter.fail.remote());
exactly<ObjectRefGenerator<number>>()(counter.stream.remote());
exactly<ObjectRef<[number, string]>>()(counter.parts.remote());
exactly<[ObjectRef<number>, ObjectRef<string>]>()(counter.parts.options({ numReturns: 2 }).remote());
exactly<void>()(counter.parts.options({ numReturns: 0, name: "parts" }).remote());
exactly<Promise<number>>()(get(counter.increment.remote()));

// A method's results in the method table hold for its calls, and a call's own options go before.
const Split = remote(Counter, { methods: { parts: { numReturns: 2 }, reset: { numReturns: 0 }, read: { concurrencyGroup: "default" } } });
exactly<[ObjectRef<number>, ObjectRef<string>]>()(Split.remote(0).parts.remote());
exactly<void>()(Split.remote(0).reset.remote());
exactly<ObjectRef<{ count: number }>>()(Split.remote(0).read.remote());
exactly<ObjectRef<[number, string]>>()(Split.remote(0).parts.options({ numReturns: 1 }).remote());
exactly<[ObjectRef<number>, ObjectRef<string>]>()(Split.options({ name: "split" }).remote(0).parts.remote());
exactly<[ObjectRef<number>, ObjectRef<string>]>()(
  RemoteCounter.options({ methods: { parts: { numReturns: 2 } } })
    .remote(0)
    .parts.remote(),
);
counter.increment.options({ concurrencyGroup: "io", maxTaskRetries: 3, retryOn: true }).remote();
// @ts-expect-error: its calls return two references
export const asCounter: ActorHandle<Counter> = Split.remote(0);

exactly<"increment" | "read" | "parts" | "reset" | "wrap" | "direct" | "peer" | "anything" | "fail" | "stream">()(
  null as unknown as MethodsOf<Counter>,
);
// @ts-expect-error: a private method
counter.secret;
// @ts-expect-error: a protected method
counter.guarded;
// @ts-expect-error: a field
counter.label;
// @ts-expect-error: a readonly field
counter.step;
// @ts-expect-error: an accessor
counter.count;
// @ts-expect-error: a static method
counter.create;
// @ts-expect-error: use .remote()
counter.increment(5);
// @ts-expect-error: use .remote()
await counter.increment();
// @ts-expect-error: methods are not replaced
counter.increment = counter.increment;
// @ts-expect-error: a handle does not end the actor by a method
counter.terminate();
// @ts-expect-error: resources belong to the actor
counter.increment.options({ numCpus: 1 });

// A method is a remote function where one is asked for.
export const asFunction: RemoteFunction<[by?: number], number> = counter.increment;

// Members that hold no function, or may hold none, are not methods.
interface Odd {
  maybe?: () => void;
  loose: any;
  opaque: unknown;
  impossible: never;
  either: number | (() => void);
  arrow: (x: number) => string;
  "quoted name"(): void;
  5(): void;
}
exactly<"arrow" | "quoted name">()(null as unknown as MethodsOf<Odd>);

// Names that mean something to JavaScript are free: a handle's members are not callable.
class Thenable {
  then(): number {
    return 1;
  }
  get(): number {
    return 2;
  }
}
const thenable = remote(Thenable).remote();
exactly<ActorHandle<Thenable>>()(await thenable);
exactly<ObjectRef<number>>()(thenable.then.remote());

// Generic and overloaded methods, by the same limits as functions.
class Store {
  keep<T>(value: T): T {
    return value;
  }
  find(key: string): number;
  find(key: string, all: true): number[];
  find(key: string, all?: true): number | number[] {
    return all ? [key.length] : key.length;
  }
}
const store = remote(Store).remote();
exactly<ObjectRef<unknown>>()(store.keep.remote(5));
exactly<ObjectRef<number[]>>()(store.find.remote("a", true));

// --- Handles as values -----------------------------------------------------------------------------------------------------------

const use = remote(async (handle: ActorHandle<Counter>, others: { more: ActorHandle<Counter>[] }) => {
  exactly<number>()(await handle.increment.remote(others.more.length));
  return handle;
});
exactly<ObjectRef<ActorHandle<Counter>>>()(use.remote(counter, { more: [counter, child] }));
exactly<ActorHandle<Counter>>()(await use.remote(counter, { more: [] }));
exactly<ObjectRef<ActorHandle<Counter>>>()(counter.peer.remote(counter));
exactly<ObjectRef<ActorHandle<Counter>[]>>()(put([counter]));
// @ts-expect-error: a handle to another class
use.remote(store, { more: [] });
function firstOf<I>(handles: readonly ActorHandle<I>[]): ActorHandle<I> | undefined {
  return handles[0];
}
exactly<ActorHandle<Counter> | undefined>()(firstOf([counter, counter]));

{
  using held = RemoteCounter.remote(0);
  exactly<ActorHandle<Counter>>()(held);
}

// --- Named actors and the end of life -----------------------------------------------------------------------------------------------

exactly<ActorHandle<Counter>>()(await getActor<Counter>("counter"));
exactly<ActorHandle<Counter>>()(await getActor<Counter>("counter", { namespace: "tests" }));
interface CounterLike {
  increment(by?: number): number;
}
exactly<ObjectRef<number>>()((await getActor<CounterLike>("counter")).increment.remote(5));
export const byInterface: ActorHandle<CounterLike> = counter;
// Without a type every name is a method.
exactly<ObjectRef<any>>()((await getActor<any>("counter")).increment!.remote(5, "a"));
// @ts-expect-error: a name
getActor<Counter>(5);

exactly<Promise<void>>()(ready(counter, { timeoutMs: 100 }));
exactly<Promise<void>>()(terminate(counter));
exactly<Promise<void>>()(kill(counter, { noRestart: false }));
// @ts-expect-error: a reference is not an actor
kill(numberRef);
// @ts-expect-error: the class is not an actor
terminate(RemoteCounter);
