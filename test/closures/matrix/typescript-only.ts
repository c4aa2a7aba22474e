/** Syntax that needs a compiler: enums, namespaces, parameter properties, decorators. */
import { run } from "./run.ts";
import { alike, works } from "./cases.ts";

const offset = 41;

enum Color {
  Red,
  Green = 5,
  Blue,
}
const enum Constant {
  Three = 3,
}
namespace Space {
  export const nine = 9;
  export function add(value: number): number {
    return value + nine + offset;
  }
}
works("enum, const enum and namespace", () => run(() => [Color.Green, Color[6], Constant.Three, Space.add(1)]), [5, "Blue", 3, 51]);

class Point {
  constructor(
    private readonly x: number,
    public readonly y: number = offset,
  ) {}

  sum(): number {
    return this.x + this.y;
  }
}
const point = new Point(1);
works("parameter properties", () => run(() => [point.sum(), new Point(2).sum()]), [42, 43]);

function logged(_target: object, _key: string, descriptor: PropertyDescriptor): void {
  const original = descriptor.value as (...values: unknown[]) => unknown;
  descriptor.value = function (this: unknown, ...values: unknown[]) {
    return ["logged", original.apply(this, values), offset];
  };
}
class Decorated {
  @logged
  method(value: number): unknown {
    return value + offset;
  }
}
works("a decorated method", () => run(() => new Decorated().method(1)), ["logged", 42, 41]);

class Keyed {
  static [Color.Red] = 1;
  [Color.Green] = 2;

  [Color.Blue](): number {
    return 3;
  }

  get [Color[5]](): number {
    return 4;
  }
}
alike("computed names from an enum", () => [Keyed[Color.Red], new Keyed()[5], new Keyed()[6](), Reflect.get(new Keyed(), "Green")]);

function doubled(_target: object, _key: string, descriptor: PropertyDescriptor): void {
  const read = descriptor.get as () => number;
  descriptor.get = function (this: unknown) {
    return read.call(this) * 2;
  };
}
function doubledWrite(_target: object, _key: string, descriptor: PropertyDescriptor): void {
  const write = descriptor.set as (value: number) => void;
  descriptor.set = function (this: unknown, value: number) {
    write.call(this, value * 2);
  };
}
function enumerable(_target: object, _key: string, descriptor: PropertyDescriptor): void {
  descriptor.enumerable = true;
}
function sealed(target: new () => object): void {
  Object.seal(target);
  Object.seal(target.prototype);
}
const required = new Map<unknown, string[]>();
function require_(prototype: object, key: string): void {
  required.set(prototype.constructor, [key]);
}
class Above {
  greet(): string {
    return "above";
  }
}
@sealed
class Legacy extends Above {
  #own = 7;
  @require_ field = 1;

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

  @enumerable shown(value: number): number {
    return value;
  }

  @logged override greet(): unknown {
    return `${super.greet()}!`;
  }

  @logged [Color.Blue](): unknown {
    return this.#own;
  }

  @logged static make(): unknown {
    return new Legacy().field;
  }
}
alike("decorated accessors, fields, static members, and methods with `super`, private and computed names", () => {
  const legacy = new Legacy();
  const own = legacy.own;
  legacy.other = 5;
  return [own, legacy.own, legacy.greet(), legacy[6](), Legacy.make(), Object.keys(Legacy.prototype), required.get(Legacy)];
});
alike("a sealing class decorator", () => [Object.isSealed(Legacy), Object.isSealed(Legacy.prototype), Legacy.name]);

function extended<Target extends new (...values: any[]) => object>(target: Target): any {
  return class extends target {
    extra = offset;
  };
}
@extended
class DecoratedClass {
  value = 1;
}
works(
  "a decorated class",
  () =>
    run(() => {
      const made = new DecoratedClass() as DecoratedClass & { extra: number };
      return [made.value, made.extra];
    }),
  [1, 41],
);
