/**
 * Locations of stored objects as messages have them, in short.
 *
 * Used by all that keep such locations: the stores of processes and daemons, and what fetches objects.
 */
import type { WireLocation } from "../wire/messages.ts";
import type { ObjectLocation } from "./arenas/layout.ts";

/** The same for two locations of one object: nothing else begins there. */
export function placeOf([arena, offset]: WireLocation): string {
  return `${arena}/${offset}`;
}

export function toWire({ arena, offset, sizeBytes, kind }: ObjectLocation): WireLocation {
  return [arena, offset, sizeBytes, kind];
}

export function fromWire([arena, offset, sizeBytes, kind]: WireLocation): ObjectLocation {
  return { arena, offset, sizeBytes, kind };
}
