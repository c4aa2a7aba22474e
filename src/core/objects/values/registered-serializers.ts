/**
 * Classes whose instances travel in the user's own form (`registerSerializer`). They precede every other rule.
 *
 * The registration holds in the sending process; the deserializer travels to readers as a definition. If Python knows the class, too, the value names it, and Python
 * makes an instance of its own class from the same data.
 */
import { describeValue } from "../../../runtime/base/texts/describe.ts";

interface RegisteredSerializer {
  readonly name: string;
  /** The class of Python, as `module:Class` or `file.py:Class`. */
  readonly python: string | undefined;
  readonly serialize: (value: object) => unknown;
  readonly deserialize: (data: never) => object;
}

type AnyClass = abstract new (...args: never[]) => object;

/** How instances of a class travel. */
interface ClassSerializer<T, D> {
  /** Gives what travels in the place of an instance. */
  serialize: (value: T) => D;
  deserialize: (data: D) => T;
  /**
   * The class that Python has for it, as `module:Class` or `/path/to/file.py:Class`: its class method `__from_shoal__(cls, data)` makes an instance, and `__to_shoal__(self)` gives the data for the way back.
   * Default: none, and Python passes such values on.
   */
  python?: string | undefined;
}

const PYTHON_CLASS = /^[^:]+(:[^:]+)*:[\p{ID_Start}_][\p{ID_Continue}.]*$/u;

const byPrototype = new Map<object, RegisteredSerializer>();

/**
 * Sends instances of a class as `serialize(instance)` and makes them again with `deserialize(data)`.
 *
 * Instances of subclasses are not covered: register each. What `serialize` returns must itself be sendable.
 *
 * @throws TypeError when the class or one of the functions is not a function, and for a `python` that names no class
 */
export function registerSerializer<T extends object, D>(
  registeredClass: abstract new (...args: never[]) => T,
  serializer: ClassSerializer<T, D>,
): void {
  if (typeof registeredClass !== "function" || typeof registeredClass.prototype !== "object") {
    throw new TypeError(`Cannot register a serializer: a class is needed first: received ${typeof registeredClass}`);
  }
  for (const name of ["serialize", "deserialize"] as const) {
    if (typeof serializer?.[name] !== "function")
      throw new TypeError(
        `Cannot register a serializer for ${registeredClass.name}: ${name} must be a function: received ${typeof serializer?.[name]}`,
      );
  }
  const { python } = serializer;
  if (python !== undefined && (typeof python !== "string" || !PYTHON_CLASS.test(python)))
    throw new TypeError(
      `Cannot register a serializer for ${registeredClass.name}: python names a class as "module:Class" or "/path/to/file.py:Class": received ${describeValue(python)}`,
    );
  byPrototype.set((registeredClass as AnyClass).prototype as object, {
    name: registeredClass.name,
    python,
    serialize: serializer.serialize as (value: object) => unknown,
    deserialize: serializer.deserialize,
  });
}

/**
 * Ends a registration: instances of the class that are sent from now on travel as any other object. Values that are on their way are not affected.
 *
 * @returns whether the class was registered
 */
export function deregisterSerializer(registeredClass: abstract new (...args: never[]) => object): boolean {
  if (typeof registeredClass !== "function")
    throw new TypeError(`Cannot deregister a serializer: a class is needed: received ${typeof registeredClass}`);
  return byPrototype.delete(registeredClass.prototype as object);
}

export function registeredFor(value: object): RegisteredSerializer | undefined {
  return byPrototype.size === 0 ? undefined : byPrototype.get(Object.getPrototypeOf(value) as object);
}
