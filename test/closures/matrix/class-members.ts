/** Members of classes that only the evaluation of the class names, and what became of a class after it. */
import { run } from "./run.ts";
import { alike, refuses, works } from "./cases.ts";
import { Labelled } from "./lib/dependency.ts";

const key = "key";
const staticKey = `${key}Static` as const;
const mark = Symbol("mark");
const Direction = { Up: "up", Down: 3 } as const;
let count = 0;
const next = (): string => `name${count++}`;

class Computed {
  static [staticKey] = 4;
  [Direction.Up] = 1;
  [mark] = 2;

  [Direction.Down](): number {
    return 5;
  }

  get [key](): number {
    return this[Direction.Up] + this[mark];
  }

  set [key](value: number) {
    this[mark] = value;
  }

  static get [mark](): string {
    return "static";
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<number> {
    yield 1;
  }
}
alike("computed names of methods, accessors, fields and static members", () => {
  const computed = new Computed();
  computed[key] = 20;
  return [
    computed[Direction.Down](),
    computed[key],
    Computed.keyStatic,
    Computed[mark],
    Reflect.ownKeys(computed),
    Reflect.ownKeys(Computed),
  ];
});

class Counted {
  // @ts-expect-error: such names have no type.
  static [next()] = 1;
  // @ts-expect-error
  [next()] = 2;

  [next()](): number {
    return 3;
  }

  static [next()](): number {
    return 4;
  }
}
alike("computed names that another evaluation would change", () => [
  Reflect.ownKeys(Counted),
  Reflect.ownKeys(Counted.prototype),
  Reflect.ownKeys(new Counted()),
]);

let moving = "before";
class Moved {
  static [moving] = 1;

  [moving](): number {
    return 2;
  }
}
class MovedField {
  readonly given: number;
  [moving] = 1;

  constructor(given: number) {
    this.given = given;
  }
}
moving = "after";
alike("computed names from a variable that has changed since", () => [Reflect.ownKeys(Moved), Reflect.ownKeys(Moved.prototype), moving]);
refuses(
  "a field with a computed name that nothing tells any longer",
  () => run(() => new MovedField(1)),
  /captured `MovedField` has the field \[moving\] \(.*class-members\.\w+:\d+\), whose computed name cannot be read off the class\n.*module of its own/,
);

function make() {
  const name = "local";
  const wrapped = `${name}Wrapped` as const;
  return class Local {
    static readonly [name] = 1;
    #own = 2;

    [name](): number {
      return this.#own;
    }

    [wrapped](): number {
      return this.#own;
    }
  };
}
const Local = make();
const { localWrapped } = Local.prototype;
Local.prototype.localWrapped = function (this: InstanceType<typeof Local>) {
  return localWrapped.call(this) + 1;
};
alike("a class made inside a call, whose method with a computed name and a private field was replaced", () => [
  new Local().local(),
  new Local().localWrapped(),
  Local.local,
  Local.name,
]);

class Labels {
  static name = "custom";
  static length = 7;
  static readonly #hidden = (next(), 3);

  static get hidden(): number {
    return Labels.#hidden;
  }
}
alike("static fields called name and length, a private one in parentheses", () => [Labels.name, Labels.length, Labels.hidden]);

class Words {
  static get(): number {
    return 1;
  }

  static name(): string {
    return "name";
  }

  static(): number {
    return 2;
  }

  get(): number {
    return 3;
  }

  async(): number {
    return 4;
  }
}
alike("methods called like keywords", () => {
  const words = new Words();
  return [Words.get(), (Words.name as () => string)(), words.static(), words.get(), words.async(), Reflect.ownKeys(Words.prototype)];
});

class Changed {
  gone(): number {
    return 1;
  }

  shown(): number {
    return 2;
  }

  get half(): number {
    return 3;
  }

  set half(value: number) {
    this.written = value;
  }

  static fixed(): number {
    return 4;
  }

  written = 0;
}
Reflect.deleteProperty(Changed.prototype, "gone");
Object.defineProperty(Changed.prototype, "shown", { enumerable: true });
Object.defineProperty(Changed.prototype, "half", { get: () => 30 });
Object.defineProperty(Changed, "fixed", { writable: false });
Object.defineProperty(Changed.prototype, "alias", { value: Changed.prototype.shown });
alike("methods that were deleted, shown, fixed or given a second name, an accessor with half of it replaced", () => {
  const changed = new Changed();
  changed.half = 5;
  return [
    Reflect.ownKeys(Changed.prototype),
    Object.keys(Changed.prototype),
    Object.getOwnPropertyDescriptor(Changed, "fixed")?.writable,
    [changed.half, changed.written],
    Reflect.get(Changed.prototype, "alias") === Changed.prototype.shown,
  ];
});

class Base {
  greet(): string {
    return "base";
  }

  static tag = "tag";
}
class Derived extends Base {
  override greet(): string {
    return `${super.greet()}!`;
  }
}
const { greet } = Derived.prototype;
Derived.prototype.greet = function wrapped(this: Derived): string {
  return `${greet.call(this)}?`;
};
alike("a method with `super` that was replaced by one that calls it", () => new Derived().greet());

class Sealed {
  value = 1;
}
class Frozen {
  static value = 1;
}
for (const owner of [Sealed, Sealed.prototype]) Object.seal(owner);
for (const owner of [Frozen, Frozen.prototype]) Object.freeze(owner);
const closed = Object.freeze({ read: () => key });
alike("sealed and frozen classes, prototypes and objects", () => [
  [Sealed, Sealed.prototype].map(Object.isSealed),
  [Frozen, Frozen.prototype, closed].map(Object.isFrozen),
  new Sealed().value,
]);

class Adopted {}
Object.setPrototypeOf(Adopted, Base);
Object.setPrototypeOf(Adopted.prototype, Base.prototype);
class Diverted extends Base {}
Object.setPrototypeOf(Diverted.prototype, { greet: () => "diverted" });
alike("a class that got another parent later", () => [
  (new Adopted() as Base).greet(),
  (Adopted as typeof Base).tag,
  new Diverted().greet(),
  Diverted.tag,
]);

works("an instance of an imported class with private fields and computed names, there and back", async () => {
  const sent = new Labelled().openedBy("here");
  const back: InstanceType<typeof Labelled> = await run(
    (value: InstanceType<typeof Labelled>) => [value.openedLabel, value.openedBy("there")],
    sent,
  ).then(([label, value]) => {
    if (label !== "here") throw new Error(String(label));
    return value;
  });
  return [back.openedLabel, back.opened, back instanceof Labelled];
}, ["there", 1, true]);

works(
  "a class with computed names and replaced methods sent on by a worker",
  () =>
    run(async () => run(() => [new Local().local(), new Local().localWrapped(), new Computed()[Direction.Down](), new Derived().greet()])),
  [2, 3, 5, "base!?"],
);
