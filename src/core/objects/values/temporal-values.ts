/**
 * Values of Temporal on their way between processes: their exact text, or the fields of a duration, whose text would merge them.
 *
 * Node has Temporal from version 26 on. A process without it cannot read these values, and says so.
 */
type TemporalType =
  | "Instant"
  | "ZonedDateTime"
  | "PlainDateTime"
  | "PlainDate"
  | "PlainTime"
  | "PlainYearMonth"
  | "PlainMonthDay"
  | "Duration";

interface TemporalClass {
  readonly prototype: object;
  from(text: unknown): object;
}

const DURATION_FIELDS = "years months weeks days hours minutes seconds milliseconds microseconds nanoseconds".split(" ");
const TYPES: readonly TemporalType[] = [
  "Instant",
  "ZonedDateTime",
  "PlainDateTime",
  "PlainDate",
  "PlainTime",
  "PlainYearMonth",
  "PlainMonthDay",
  "Duration",
];

let classes: ReadonlyMap<object | null, readonly [TemporalType, TemporalClass]> | undefined;

/** By prototype; empty in a Node without Temporal. Made at first use, as touching the global loads it. */
function classesOfTemporal(): NonNullable<typeof classes> {
  const { Temporal } = globalThis as { Temporal?: Readonly<Record<TemporalType, TemporalClass>> };
  classes ??= new Map(Temporal === undefined ? [] : TYPES.map((type) => [Temporal[type].prototype, [type, Temporal[type]]]));
  return classes;
}

/** The type and the form of a value of Temporal; undefined for others, and for instances of subclasses. */
export function temporalPayload(value: object): readonly [TemporalType, unknown] | undefined {
  const prototype = Object.getPrototypeOf(value) as object | null;
  // Far cheaper than the look-up, for all other values.
  if (prototype === null || !Object.hasOwn(prototype, Symbol.toStringTag)) return undefined;
  const type = classesOfTemporal().get(prototype)?.[0];
  if (type === undefined) return undefined;
  if (type !== "Duration") return [type, (value as { toString(): string }).toString()];
  return [type, DURATION_FIELDS.map((field) => (value as Readonly<Record<string, number>>)[field])];
}

/** @throws RangeError in a Node without Temporal, and for data that no process sends */
export function temporalFrom(payload: unknown): object {
  const [type, form] = payload as [TemporalType, unknown];
  if (!TYPES.includes(type)) throw new RangeError(`Cannot read a value of Temporal: its type is unknown: received ${type as string}`);
  for (const [known, temporal] of classesOfTemporal().values()) {
    if (known !== type) continue;
    if (type !== "Duration") return temporal.from(form);
    const fields = form as readonly number[];
    return temporal.from(Object.fromEntries(DURATION_FIELDS.map((field, index) => [field, fields[index]])));
  }
  throw new RangeError(
    `Cannot read a Temporal.${type}: Node ${process.versions.node} has no Temporal. Run all processes on Node 26 or later, or send its text.`,
  );
}
