/**
 * Dates with the microseconds and nanoseconds of the column that they were read from, for which a Date has no room.
 *
 * The rest is a private field on the Date itself. Users see a plain Date, nothing enumerates or compares the field, and a Date that a function hands on still has it. A Date whose time was
 * set anew has no rest. `value-reader.ts` marks Dates, and `vector-builder.ts` asks for the rest.
 */

class Marked {
  constructor(date: Date) {
    // The private fields of the subclass are put on the Date.
    return date;
  }
}

class FineDate extends Marked {
  readonly #ms: number;
  readonly #ns: number;

  constructor(date: Date, ms: number, ns: number) {
    super(date);
    this.#ms = ms;
    this.#ns = ns;
  }

  static restOf(date: Date): number {
    return #ns in date && (date as unknown as FineDate).#ms === date.getTime() ? (date as unknown as FineDate).#ns : 0;
  }
}

/** Makes the Date of a moment between two milliseconds. `ns` is from 0 to 999,999. */
export function fineDate(ms: number, ns: number): Date {
  const date = new Date(ms);
  if (ns > 0) new FineDate(date, ms, ns);
  return date;
}

/** Returns the nanoseconds behind the Date's millisecond, 0 for a Date that has none. */
export const restOf: (date: Date) => number = FineDate.restOf;
