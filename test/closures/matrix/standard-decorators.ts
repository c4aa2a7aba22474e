/** The language's own decorators, as compilers lower them. A main file: the others of the matrix are compiled with TypeScript's older ones. */
import { run } from "./run.ts";
import { alike, report, works } from "./cases.ts";

const offset = 41;

type Method = (this: never, ...values: never[]) => unknown;

function logged<Target extends Method>(target: Target, { name }: ClassMethodDecoratorContext): Target {
  return function (this: never, ...values: never[]) {
    return ["logged", String(name), target.apply(this, values), offset];
  } as Target;
}
function bound(_target: Method, { name, addInitializer }: ClassMethodDecoratorContext): void {
  addInitializer(function (this: unknown) {
    const holder = this as Record<PropertyKey, Method>;
    holder[name] = (holder[name] as Method).bind(this as never);
  });
}
function doubled<Owner>(read: (this: Owner) => number, _context: ClassGetterDecoratorContext<Owner, number>): (this: Owner) => number {
  return function (this: Owner) {
    return read.call(this) * 2;
  };
}
function doubledWrite<Owner>(
  write: (this: Owner, value: number) => void,
  _context: ClassSetterDecoratorContext<Owner, number>,
): (this: Owner, value: number) => void {
  return function (this: Owner, value: number) {
    write.call(this, value * 2);
  };
}
function raised(_target: undefined, _context: ClassFieldDecoratorContext): (value: number) => number {
  return (value) => value + offset;
}
function watched<Owner>(
  { get, set }: ClassAccessorDecoratorTarget<Owner, number>,
  _context: ClassAccessorDecoratorContext<Owner, number>,
): ClassAccessorDecoratorResult<Owner, number> {
  return {
    get(this: Owner) {
      return get.call(this) + offset;
    },
    set(this: Owner, value: number) {
      set.call(this, value + 1);
    },
    init: (value) => value * 10,
  };
}
function tagged(target: { tag?: unknown }, { name, addInitializer }: ClassDecoratorContext): void {
  target.tag = name;
  addInitializer(function (this: unknown) {
    (this as { ready?: boolean }).ready = true;
  });
}
function extended<Target extends new (...values: never[]) => object>(target: Target, _context: ClassDecoratorContext): Target {
  const parent = target as unknown as new (...values: unknown[]) => object;
  return class extends parent {
    extra = offset;
  } as unknown as Target;
}

enum Direction {
  Up = "up",
}

class Above {
  greet(): string {
    return "above";
  }
}

class Decorated extends Above {
  #own = 7;
  @raised field = 1;
  @raised #hidden = 2;
  @watched accessor watched = 3;
  accessor plain = 4;
  @watched static accessor shared = 5;
  @raised static count = 6;
  @watched accessor #inner = 8;

  @logged method(value: number): unknown {
    return this.#own + value;
  }

  @logged override greet(): string {
    return `${super.greet()}!`;
  }

  @bound held(): number {
    return this.#own;
  }

  @doubled get own(): number {
    return this.#own;
  }

  set own(value: number) {
    this.#own = value;
  }

  get other(): number {
    return this.#own;
  }

  @doubledWrite set other(value: number) {
    this.#own = value;
  }

  @logged [Direction.Up](): unknown {
    return this.#own;
  }

  @logged static make(): unknown {
    return new Decorated().field;
  }

  @logged #secret(value: number): unknown {
    return this.#own + value;
  }

  secrets(): unknown {
    this.#inner = 9;
    return [this.#secret(1), this.#hidden, this.#inner];
  }
}
alike("decorated methods, with private names, `super` and a computed name", () => {
  const decorated = new Decorated();
  const { held } = decorated;
  return [decorated.method(1), decorated.greet(), decorated[Direction.Up](), held(), Decorated.make()];
});
alike("decorated getters and setters", () => {
  const decorated = new Decorated();
  decorated.own = 9;
  const own = decorated.own;
  decorated.other = 9;
  return [own, decorated.other];
});
alike("decorated fields and auto-accessors", () => {
  const decorated = new Decorated();
  const before = [decorated.watched, decorated.plain, decorated.field];
  decorated.watched = 5;
  decorated.plain = 6;
  return [before, decorated.watched, decorated.plain, Decorated.shared, Decorated.count];
});
alike("decorated private members", () => new Decorated().secrets());

const expected = [["logged", "method", 9, 41], 14, 62];
const instance = new Decorated();
instance.watched = 20;
instance.plain = 21;
alike("an instance of a decorated class", () => [
  instance.watched,
  instance.plain,
  instance.method(2),
  instance.field,
  instance instanceof Decorated,
]);
class Plain {
  accessor plain = 4;

  @logged method(): unknown {
    return 1;
  }
}
works("an instance of a decorated class as an argument, there and back", async () => {
  const back: Plain = await run((value: Plain) => {
    value.plain += 26;
    return value;
  }, new Plain());
  return [back.plain, back.method(), back instanceof Plain];
}, [30, ["logged", "method", 1, 41], true]);
works(
  "an instance whose decorated methods read private names comes back, or is refused where the engine keeps them",
  async () => {
    const refused = /^Cannot restore an instance of class Decorated: its member \w+ was replaced/;
    const back: unknown = await run((value: Decorated) => value, instance).catch((error: Error) => error);
    return back instanceof Decorated
      ? [back.method(2), back.own, back.watched]
      : back instanceof Error && refused.test(back.message)
        ? expected
        : back;
  },
  expected,
);

@tagged
class Tagged {
  declare static tag: unknown;
  declare static ready: boolean;
  #own = 3;

  read(): number {
    return this.#own;
  }
}
@extended
class Extended {
  value = 1;

  static make(): Extended {
    return new Extended();
  }
}
alike("decorated classes", () => {
  const extended = Extended.make() as Extended & { extra: number };
  return [Tagged.tag, Tagged.ready, Tagged.name, new Tagged().read(), extended.value, extended.extra, extended instanceof Extended];
});

await report();
