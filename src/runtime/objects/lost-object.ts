/**
 * Notes on an error which object a failed read concerned, so that its owner learns that the bytes are gone.
 *
 * The store's reader knows files and offsets, and the caller knows objects. The code that joins the two leaves a note on the error itself, and
 * `core/calls/failures/recovery.ts` reads it. An error without recovery reaches the user unchanged.
 */
import type { ObjectLostError } from "../base/errors.ts";
import type { WireLocation } from "../wire/messages.ts";
import type { ObjectEntry } from "./object-entry.ts";

export interface LostObject {
  readonly entry: ObjectEntry;
  /** Where its bytes were looked for in vain. */
  readonly location: WireLocation;
}

/** Arguments of a call are lost. The call has not begun, and returns its resources, which the tasks that make the arguments again may need. */
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
