/**
 * Headers of the messages by which objects go from node to node; their numbers are in the catalogue (`messages.ts`).
 *
 * Between a process and its daemon: OBJECT_FETCH, COPY_RELEASE, OBJECT_LOCATE. On transfer connections: TRANSFER_OPEN, READ, CHUNK and END. On node links: COPY_STATE, COPY_FREED and COPY_KEEP. PROTOCOL.md tells
 * the same to readers of other languages.
 */
import {
  exactly,
  either,
  fields,
  flag,
  list,
  number,
  objectId,
  type Of,
  optional,
  processId,
  text,
  textOf,
  tuple,
} from "../header-shape.ts";
import { location } from "../messages.ts";

/** Purpose of a fetch, most urgent first. */
export const FETCH_FOR = { GET: 0, WAIT: 1, PREFETCH: 2 } as const;

/**
 * An object at one place, which identifies a copy. The place alone may belong to another object by now, and the id may have been made again
 * at another place.
 */
export const copyKey = tuple(objectId, location);
export type CopyKey = Of<typeof copyKey>;

/**
 * The object, its place, and the purpose. To the process's daemon, which answers with a location on this node, or with the error
 * `objectLost`, `objectStoreFull` or `outOfDisk`. Without its owner only the object's node is asked.
 */
export const objectFetch = tuple(objectId, location, number, optional(processId));
export type ObjectFetchHeader = Of<typeof objectFetch>;

/** To the process' daemon, or from that to another: where these objects are, each with its place and owner. Answered with one place for each. */
export const objectLocate = list(tuple(objectId, location, processId));
export type ObjectLocateHeader = Of<typeof objectLocate>;

/** Node tags of the nodes with all of an object's bytes, the object's own first; and whether it is on disk there. */
export const objectPlace = tuple(list(textOf("node tag")), flag);
export type ObjectPlaceHeader = Of<typeof objectPlace>;

/** Begins a pull: the number that names it is the frame's call id. */
export const transferOpen = fields({
  key: copyKey,
  /** Nodes whose copies could not be had. */
  avoid: list(text),
  /** Whether chunks carry checksums. */
  checks: flag,
});
export type TransferOpenHeader = Of<typeof transferOpen>;

/** Answers the pull named by the frame's call id: the offset and the size in bytes. */
export const transferRead = tuple(number, number);
export type TransferReadHeader = Of<typeof transferRead>;

/** A pull is over. From the receiver: it has everything, or wants no more. From the source: it lacks the object, or names a node to ask. */
export const transferEnd = either(tuple(exactly("done", "cancelled", "gone")), tuple(exactly("elsewhere"), text));
export type TransferEndHeader = Of<typeof transferEnd>;

/** To the node where an object's bytes are, and to its owner's: its copy at the sender is whole, or is no more. The number is that of the pull. */
export const copyState = tuple(copyKey, number, exactly("whole", "gone"), optional(processId));
export type CopyStateHeader = Of<typeof copyState>;

/**
 * From an owner's node, to one with a copy of an object whose own node is dead: whether the copy is the object from now on, or may be
 * deleted.
 */
export const copyKeep = tuple(copyKey, flag);
export type CopyKeepHeader = Of<typeof copyKeep>;
