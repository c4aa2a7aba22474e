/** Syntax that needs a compiler: enums, namespaces, parameter properties, decorators. */
import { run } from "./run.ts";
import { works } from "./cases.ts";

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
