/** Classes and their instances: text, heritage, static and private state, identity. */
import { EventEmitter } from "node:events";
import { run } from "./run.ts";
import { works } from "./cases.ts";
import { Sealed } from "./lib/dependency.ts";

const offset = 41;
const process_ = process.pid;

function addOffset(value: number): number {
  return value + offset;
}

class Animal {
  name: string;

  constructor(name: string) {
    this.name = name;
  }

  speak(): number {
    return addOffset(this.name.length);
  }
}

class Dog extends Animal {
  static count = 0;
  #secret = 5;

  constructor(name: string, secret = 5) {
    super(name);
    this.#secret = secret;
    Dog.count++;
  }

  #bump(): number {
    return ++this.#secret;
  }

  reveal(): number {
    return this.#bump();
  }

  get secret(): number {
    return this.#secret;
  }
}

const rex = new Dog("rex", 30);
rex.reveal();

works("a class is constructed on the worker", () => run(() => new Dog("ab").speak()), 43);
works(
  "an instance with its prototype, private fields and inherited methods",
  () => run(() => [rex.reveal(), rex.secret, rex.name, rex.speak(), rex instanceof Dog, rex instanceof Animal]),
  [32, 32, "rex", 44, true, true],
);
works("a class as argument", async () => {
  class Box {
    content: number;
    constructor(content: number) {
      this.content = content;
    }
    double(): number {
      return this.content * 2;
    }
  }
  const box: Box = await run((type: typeof Box) => new type(3), Box);
  return [box.content, box.double(), box.constructor === Box];
}, [3, 6, true]);

class Settings {
  static count = 0;
  static kinds: Map<string, number> = new Map([["a", 1]]);
  static startedIn = 0;
  value = 7;

  static {
    Settings.startedIn = process.pid;
  }

  constructor() {
    Settings.count++;
  }

  static create(): Settings {
    return new Settings();
  }
}
Settings.count = 5;
works("static fields as they are now; static blocks and initializers do not run again", async () => {
  const [count, kind, value, after, startedIn] = await run(() => [
    Settings.count,
    Settings.kinds.get("a"),
    Settings.create().value,
    Settings.count,
    Settings.startedIn,
  ]);
  return [count, kind, value, after - count, startedIn === process_];
}, [5, 1, 7, 1, true]);

class Private {
  static #shared = 3;
  #value = 1;
  read = (): number => this.#value + offset;

  static #advance(): number {
    return ++Private.#shared;
  }

  static next(): number {
    return Private.#advance();
  }

  static isOne(object: object): boolean {
    return #value in object;
  }

  set(value: number): this {
    this.#value = value;
    return this;
  }
}
Private.next();
const held = new Private().set(8);
works(
  "static private members, `#x in object`, an arrow field over `this`",
  () => run(() => [Private.next(), Private.isOne(new Private()), new Private().set(2).read()]),
  [5, true, 43],
);
works("an instance whose own arrow field closes over it", () => run(() => [held.read(), held.set(1).read()]), [49, 42]);

class Emitter extends EventEmitter {
  total = 0;

  constructor() {
    super();
    this.on("add", (value: number) => {
      this.total += value;
    });
  }

  fire(value: number): number {
    this.emit("add", value);
    return this.total;
  }
}
works(
  "a class over an imported one",
  () =>
    run(() => {
      const emitter = new Emitter();
      emitter.fire(2);
      return [emitter.fire(3), emitter instanceof EventEmitter];
    }),
  [5, true],
);

class Stack<Item> extends Array<Item> {
  top(): Item | undefined {
    return this[this.length - 1];
  }
}
class Sums extends Map<string, number> {
  extra = 1;

  sum(): number {
    let sum = offset;
    for (const value of this.values()) sum += value;
    return sum;
  }
}
class CodeError extends Error {
  code = 5;

  constructor(message: string) {
    super(message);
    this.name = "CodeError";
  }
}
const stack = Stack.from([1, 2, 3]) as Stack<number>;
const sums = new Sums([
  ["a", 1],
  ["b", 2],
]);
const codeError = new CodeError("boo");
works(
  "instances of classes over Array, Map and Error",
  () => run(() => [stack.top(), stack.length, sums.sum(), sums.extra, codeError.message, codeError instanceof CodeError, codeError.code]),
  [3, 3, 44, 1, "boo", true, 5],
);

class PrivateMap extends Map<string, number> {
  #reads = 2;

  read(key: string): number {
    this.#reads += 1;
    return (this.get(key) ?? 0) * this.#reads;
  }
}
const privateMap = new PrivateMap([["a", 5]]);
works("a class over Map with private fields", () => run(() => privateMap.read("a")), 15);

type Constructor = new (...parameters: any[]) => object;
const Mixin = <Base extends Constructor>(base: Base) =>
  class extends base {
    mixed(): number {
      return offset + 1;
    }
  };
class Mixed extends Mixin(Animal) {
  own(): number {
    return this.mixed() + 1;
  }
}
works("a class over what a function returned", () => run(() => new Mixed("abc").own()), 43);

class Parent {
  static tag = "parent";

  make(): { who(): string } {
    return new Child();
  }
}
class Child extends Parent {
  who(): string {
    return Parent.tag;
  }
}
works("classes that refer to each other", () => run(() => new Parent().make().who()), "parent");

const animal = new Animal("four");
works("one class for two definitions and an argument", async () => {
  await run(() => new Animal("first").name);
  return run((value: Animal) => [value instanceof Animal, value.speak()], animal);
}, [true, 45]);
works("an instance comes back as one", async () => (await run(() => new Animal("new"))) instanceof Animal, true);
works("an instance with private fields comes back with them", async () => {
  const back: Dog = await run((dog: Dog) => {
    dog.reveal();
    return dog;
  }, new Dog("there", 10));
  return [back instanceof Dog, back.secret, back.reveal(), back.name, back.constructor === Dog];
}, [true, 11, 12, "there", true]);
works("and goes out again", async () => {
  const back: Dog = await run((dog: Dog) => dog, new Dog("again", 1));
  back.reveal();
  return run((dog: Dog) => [dog instanceof Dog, dog.reveal()], back);
}, [true, 3]);

class Overriding extends Dog {
  override speak(): number {
    return super.speak() + this.secret;
  }
}
works("an override over a class with private fields, there and back", async () => {
  const back: Overriding = await run((value: Overriding) => value, new Overriding("abc", 100));
  return [back.speak(), back instanceof Overriding, back instanceof Animal];
}, [144, true, true]);

const sealed = new Sealed(5).replace(6);
works("an instance of an imported class with private fields", async () => {
  const opened = await run(() => [sealed.open(), sealed instanceof Sealed]);
  const back: Sealed = await run((value: Sealed) => value.replace(1), sealed);
  return [opened, back.open(), back instanceof Sealed];
}, [[13, true], 8, true]);

class Computed {
  stored = 3;

  [`named${offset}`](): number {
    return 1;
  }

  get value(): number {
    return this.stored;
  }

  set value(value: number) {
    this.stored = value;
  }

  static async *[Symbol.asyncIterator](): AsyncGenerator<number> {
    yield offset;
  }
}
works(
  "computed member names and accessors",
  () =>
    run(async () => {
      const computed = new Computed() as Computed & { named41(): number };
      computed.value = 4;
      const items: number[] = [];
      for await (const item of Computed) items.push(item);
      return [computed.named41(), computed.value, items];
    }),
  [1, 4, [41]],
);

works(
  "a method taken off its class",
  async () => {
    const method = Animal.prototype.speak as () => number;
    return run((call: () => number) => call.call({ name: "loose" } as never), method);
  },
  46,
);

works("a class made inside a call, with its variables", () => {
  const base = 1;
  class Local {
    #step = 2;
    next(): number {
      return base + this.#step + Local.extra;
    }
    static extra = 3;
  }
  const local = new Local();
  return run(() => [local.next(), new Local().next()]);
}, [6, 6]);

class Countdown {
  remaining = 2;
  *[Symbol.iterator](): Generator<number> {
    while (this.remaining > 0) yield this.remaining--;
  }
}
const countdown = new Countdown();
works("an iterable instance", () => run(() => [...countdown]), [2, 1]);

class Node_ {
  next: Node_ | null;
  constructor(next: Node_ | null) {
    this.next = next;
  }
}
works("a list of 10,000 instances", async () => {
  let list: Node_ | null = null;
  for (let index = 0; index < 10_000; index++) list = new Node_(list);
  const [length, back] = await run((start: Node_ | null) => {
    let count = 0;
    for (let node = start; node; node = node.next) if (node instanceof Node_) count += 1;
    return [count, start];
  }, list);
  return [length, back instanceof Node_, back.next.next instanceof Node_];
}, [10_000, true, true]);
