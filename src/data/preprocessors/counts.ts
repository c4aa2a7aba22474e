/**
 * Counts of words and categories, as states of an aggregate: two lists side by side, which columns can hold.
 *
 * The functions travel to workers by their names. Where an entry stands is looked up in a table beside the state, which each process makes once a state.
 */
import { aggregator, type Aggregate } from "../aggregates/aggregate.ts";

export interface Counts {
  readonly keys: string[];
  readonly counts: number[];
}

const PLACES = new WeakMap<Counts, Map<string, number>>();

function placesOf(state: Counts): Map<string, number> {
  let places = PLACES.get(state);
  if (places === undefined) {
    places = new Map(state.keys.map((key, place) => [key, place]));
    PLACES.set(state, places);
  }
  return places;
}

export function countKey(state: Counts, key: string, by: number): void {
  const places = placesOf(state);
  const place = places.get(key);
  if (place === undefined) {
    places.set(key, state.keys.length);
    state.keys.push(key);
    state.counts.push(by);
  } else {
    state.counts[place] = (state.counts[place] as number) + by;
  }
}

export function noCounts(): Counts {
  return { keys: [], counts: [] };
}

export function mergeCounts(a: Counts, b: Counts): Counts {
  const merged: Counts = { keys: [...a.keys], counts: Array.from(a.counts) };
  for (const [place, key] of b.keys.entries()) countKey(merged, key, b.counts[place] as number);
  return merged;
}

/** @param count - adds the keys of a row to the counts, and returns them */
export function counting(count: (counts: Counts, row: Readonly<Record<string, unknown>>) => Counts): Aggregate<Counts, never> {
  return aggregator({ init: noCounts, accumulateRow: count, merge: mergeCounts });
}
