/**
 * The name of an object at a place, under which its copies are known on all nodes.
 *
 * The key has both, because an object that was made again has another place, and a place holds one object after the other. A key from another node is checked.
 */
import { isPlaceInStore } from "../../objects/arenas/arena-reader.ts";
import type { ObjectLocation } from "../../objects/arenas/layout.ts";
import type { WireLocation } from "../../wire/messages.ts";
import type { CopyKey } from "../../wire/objects/transfer-messages.ts";

const OBJECT_ID = /^[0-9a-f]{8,64}$/;

export function copyKeyOf([id, [arena, offset, sizeBytes]]: CopyKey): string {
  return `${id}/${arena}/${offset}/${sizeBytes}`;
}

export function isCopyKey(value: unknown): value is CopyKey {
  if (!Array.isArray(value)) return false;
  const [id, location] = value as unknown[];
  if (typeof id !== "string" || !OBJECT_ID.test(id) || !Array.isArray(location)) return false;
  return isPlaceInStore(locationOf(location as WireLocation));
}

export function locationOf([arena, offset, sizeBytes, kind]: WireLocation): ObjectLocation {
  return { arena, offset, sizeBytes, kind };
}
