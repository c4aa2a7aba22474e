/**
 * How many functions and classes each place in the user's source has made remote: a place that makes them without end is told about, once.
 *
 * A definition costs a capture, a message to each worker and memory until it is collected, where a call costs microseconds. Owned by `function-table.ts`.
 */
import { placeOfDefinition } from "../../../runtime/closure/capture.ts";

/** More than a program has a reason for: what differs between so many can be an argument. */
const DEFINITIONS_OF_A_PLACE = 1000;
/** Places that are counted at a time; when there are more, counting begins anew. */
const PLACES_MAX = 10_000;

export class DefinitionSites {
  readonly #counts = new Map<string, number>();
  readonly #warn: (text: string) => void;

  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  made(target: (...args: never[]) => unknown): void {
    const place = placeOfDefinition(target);
    if (place === undefined) return;
    const count = (this.#counts.get(place.key) ?? 0) + 1;
    if (count === 1 && this.#counts.size >= PLACES_MAX) this.#counts.clear();
    this.#counts.set(place.key, count);
    if (count !== DEFINITIONS_OF_A_PLACE) return;
    this.#warn(
      `WARNING: ${place.describe()} has made ${count} remote functions or classes, each of which is captured and sent: ` +
        "define it once, outside of the function that uses it, and pass what differs as arguments",
    );
  }
}
