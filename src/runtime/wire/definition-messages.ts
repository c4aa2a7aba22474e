/**
 * How the definition of a function or class is announced: to workers ahead of its first call (DEFINITION), and to the node (DEFINE).
 */
import type { ObjectId, ProcessId } from "../base/ids.ts";
import type { StoredHeader } from "./messages.ts";

export interface DefinitionHeader {
  /** Number of the definition in later calls on this connection; 0 where there are none. */
  number: number;
  id: string;
  /** The hash of its bytes: values name the classes inside it by this. Equal to `id` where a class is a definition of its own. */
  contentId: string;
  name: string;
  /** Length in the body; -1 where the definition is to be fetched from the daemon. */
  inBand: number;
  buffers: number[];
  dependencies: string[];
  /** References that it captured. */
  refs: [id: ObjectId, owner: ProcessId][];
  /** Large captured buffers make the whole definition an object in the store, which all workers map; the body is empty then. */
  stored: StoredHeader | undefined;
  /** How many calls of it a worker takes before it ends; without it, any number. */
  maxCalls?: number | undefined;
  /** Sent to the node: the counted reference with which the definition lives and ends; without it, it is kept for good. */
  reference?: ObjectId | undefined;
  /** At the head: the process that sent it. */
  owner?: ProcessId | undefined;
  /** Sent to workers: the place in `refs` of the definition's own reference, for values that need it. */
  own?: number | undefined;
  /** As in `CallHeader`. */
  held?: number | undefined;
}
