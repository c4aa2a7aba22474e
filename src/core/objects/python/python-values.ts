/**
 * Python values without a JavaScript type, other than arrays: exact texts, and objects that only Python can open.
 *
 * A `PythonValue` has an exact text, so that no digit is lost through a double. A `PythonObject` is pickled: here it can be held, passed on and printed, and Python
 * opens it. Only Python makes its bytes. `serializer.ts` lists their kinds; the reducer writes and reads them.
 */
import { describeValue } from "../../../runtime/base/texts/describe.ts";
import { isObjectRef } from "../object-ref.ts";

const DIGITS = String.raw`(\d+(\.\d*)?|\.\d+)`;
const FLOAT = `(${DIGITS}([eE][+-]?\\d+)?|inf|nan)`;
const TIME = String.raw`\d\d:\d\d(:\d\d(\.\d{1,6})?)?`;
const FORMS = {
  decimal: new RegExp(`^[+-]?(${DIGITS}([eE][+-]?\\d+)?|Infinity|s?NaN\\d*)$`),
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  date: /^\d{4}-\d\d-\d\d$/,
  time: new RegExp(`^${TIME}([+-]${TIME}|Z)?$`),
  timedelta: /^-?\d+(\.\d{1,6})?$/,
  complex: new RegExp(`^[+-]?${FLOAT}?([+-]?${FLOAT}j)?$`),
} as const;

const EXAMPLES: Readonly<Record<PythonValueType, string>> = {
  decimal: '"0.10"',
  uuid: '"12345678-1234-5678-1234-567812345678"',
  date: '"2026-01-31"',
  time: '"23:59:59.5"',
  timedelta: 'seconds such as "-1.5"',
  complex: '"1+2j"',
};

const PYTHON_NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** The types of Python that travel as text. */
export type PythonValueType = "complex" | "date" | "decimal" | "time" | "timedelta" | "uuid";

/**
 * A `Decimal`, `UUID`, `date`, `time`, `timedelta` or `complex` of Python, as its exact text: a decimal as Python writes it, dates and times in the form of ISO 8601, a `timedelta` in seconds.
 *
 * @example
 * const price = new PythonValue("decimal", "0.10");
 * const total = await python.task<(price: PythonValue, count: number) => PythonValue>("shop.py", "total").remote(price, 3);
 * console.log(`${total}`); // 0.30
 */
export class PythonValue {
  readonly type: PythonValueType;
  readonly text: string;

  /** @throws TypeError for a type that is not among these, RangeError for a text that is none of the type */
  constructor(type: PythonValueType, text: string) {
    if (typeof type !== "string" || !Object.hasOwn(FORMS, type))
      throw new TypeError(
        `Cannot make a PythonValue: its type is one of ${Object.keys(FORMS).join(", ")}: received ${describeValue(type)}`,
      );
    if (typeof text !== "string" || text === "" || !FORMS[type].test(text))
      throw new RangeError(
        `Cannot make a PythonValue: the text of a ${type} is needed, ${EXAMPLES[type]}: received ${describeValue(text)}`,
      );
    this.type = type;
    this.text = text;
    Object.freeze(this);
  }

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return this.text;
  }
}

/** Arguments by name for a function or method of Python, made by `python.keywords`. */
export class PythonKeywords {
  readonly values: Readonly<Record<string, unknown>>;

  /** @throws TypeError for names that Python would not take, and for references */
  constructor(values: Readonly<Record<string, unknown>>) {
    if (typeof values !== "object" || values === null || Array.isArray(values))
      throw new TypeError(`Cannot name arguments of Python: an object with their values is needed: received ${describeValue(values)}`);
    for (const [name, value] of Object.entries(values)) {
      if (!PYTHON_NAME.test(name))
        throw new TypeError(`Cannot name arguments of Python: a name is needed: received ${describeValue(name)}`);
      if (isObjectRef(value))
        throw new TypeError(
          `Cannot name arguments of Python: ${name} is a reference, which becomes its value only as an argument by place: await it, or pass it by place`,
        );
    }
    this.values = Object.freeze({ ...values });
    Object.freeze(this);
  }
}

/** Class, pickled bytes, large buffers beside them, and what of the cluster is in it. */
type PythonObjectPayload = readonly [className: string, pickled: Uint8Array, buffers: readonly Uint8Array[], objects: readonly unknown[]];

const payloads = new WeakMap<object, PythonObjectPayload>();

/**
 * An instance of a Python class without a form here. It can be kept, put into other values and passed on to Python, which opens it. `String(object)` names its class.
 * References inside it live as long as it does.
 */
export class PythonObject {
  /** Module and name. */
  readonly className: string;
  readonly sizeBytes: number;

  private constructor(className: string, sizeBytes: number) {
    this.className = className;
    this.sizeBytes = sizeBytes;
    Object.freeze(this);
  }

  /** @internal */
  static from(payload: unknown): PythonObject {
    const received = payload as PythonObjectPayload;
    const [className, pickled, buffers] = received;
    const made = new PythonObject(
      className,
      buffers.reduce((sum, { byteLength }) => sum + byteLength, pickled.byteLength),
    );
    payloads.set(made, received);
    return made;
  }

  toString(): string {
    return `[PythonObject ${this.className}]`;
  }
}

Object.defineProperty(PythonObject.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: PythonObject): string {
    return `[PythonObject ${this.className}, ${this.sizeBytes} bytes]`;
  },
});

export function pythonObjectPayload(value: object): PythonObjectPayload | undefined {
  return payloads.get(value);
}
