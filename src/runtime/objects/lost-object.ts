/**
 * Which object a failed read was about: the signal by which its owner learns that the bytes are gone.
 *
 * The reader of the store knows files and offsets, the caller knows objects; whoever joins the two notes it here, and `core/calls/recovery.ts` asks. The note
 * hangs on the error itself, so that an error which nobody recovers from is just what the user sees.
 */
import type { ObjectLostError } from "../base/errors.ts";
import type { WireLocation } from "../wire/messages.ts";
import type { ObjectEntry } from "./object-entry.ts";

export interface LostObject {
  readonly entry: ObjectEntry;
  /** Where its bytes were looked for in vain. */
  readonly location: WireLocation;
}

/** Arguments of a call are lost. It has not begun, and gives back all that it was to begin with: what makes them again may need that. */
export class ArgumentsLost extends Error {
  // oxlint-disable-next-line no-unused-private-class-members -- looked for by `is`
  readonly #brand = true;
  readonly lost: readonly LostObject[];

  constructor(lost: readonly LostObject[]) {
    super(`Cannot read the arguments of a call: ${lost.length} of them are lost`);
    this.lost = lost;
  }

  /** Reads nothing of the value, which may be a proxy. */
  static is(thrown: unknown): thrown is ArgumentsLost {
    return typeof thrown === "object" && thrown !== null && #brand in thrown;
  }
}

const lostBy = new WeakMap<ObjectLostError, LostObject>();

export function noteLost(error: ObjectLostError, lost: LostObject): void {
  lostBy.set(error, lost);
}

/** @returns undefined for an error that is about something else */
export function lostObjectOf(error: unknown): LostObject | undefined {
  return typeof error === "object" && error !== null ? lostBy.get(error as ObjectLostError) : undefined;
}

export function isSameLocation(a: WireLocation | undefined, b: WireLocation): boolean {
  return a !== undefined && a[0] === b[0] && a[1] === b[1] && a[2] === b[2] && a[3] === b[3];
}
