/**
 * Headers of the messages by which objects go from node to node; their numbers are in the catalogue (`messages.ts`).
 *
 * Between a process and its daemon: OBJECT_FETCH, COPY_RELEASE, OBJECT_LOCATE. On transfer connections: TRANSFER_OPEN, READ, CHUNK and END. On node links: COPY_STATE, COPY_FREED and COPY_KEEP. PROTOCOL.md tells
 * the same to readers of other languages.
 */
import type { ObjectId, ProcessId } from "../base/ids.ts";
import type { WireLocation } from "./messages.ts";

/** What an object is fetched for: the first comes first. */
export const FETCH_FOR = { GET: 0, WAIT: 1, PREFETCH: 2 } as const;

/** One object at one place: what a copy is of. The place alone may be another object's by now, and the id may have been made again elsewhere. */
export type CopyKey = [id: ObjectId, location: WireLocation];

/** To the process' daemon, which answers with a location on this node, or with the error `objectLost`, `objectStoreFull` or `outOfDisk`. Without its owner nobody but the object's node is asked. */
export type ObjectFetchHeader = [id: ObjectId, location: WireLocation, purpose: number, owner?: ProcessId];

/** To the process' daemon, or from that to another: where these objects are. Answered with one place for each. */
export type ObjectLocateHeader = (readonly [id: ObjectId, location: WireLocation, owner: ProcessId])[];

/** Nodes that have all of an object's bytes, by the first halves of their ids, the object's own first; and whether it lies on disk there. */
export type ObjectPlaceHeader = [nodes: string[], isOnDisk: boolean];

/** Begins a pull: the number that names it is the frame's call id. `avoid`: nodes whose copies could not be had. */
export interface TransferOpenHeader {
  key: CopyKey;
  avoid: string[];
  /** Whether chunks carry checksums. */
  checks: boolean;
}

/** Of the pull that is the frame's call id. */
export type TransferReadHeader = [offset: number, sizeBytes: number];

/** A pull is over. From the receiver: it has everything, or wants no more. From the source: it has it not, or that node is to be asked. */
export type TransferEndHeader = [how: "done" | "cancelled" | "gone"] | [how: "elsewhere", node: string];

/** To the node where an object's bytes are, and to its owner's: its copy at the sender is whole, or is no more. The number is that of the pull. */
export type CopyStateHeader = [key: CopyKey, pull: number, state: "whole" | "gone", owner?: ProcessId];

/** From an owner's node, to one with a copy of an object whose own node is dead: the copy is the object from now on, or one that may go. */
export type CopyKeepHeader = [key: CopyKey, isKept: boolean];
