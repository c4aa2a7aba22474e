/**
 * Finds the places of refs' values: `getObjectLocations`.
 *
 * A process knows for each value it has met whether the value is small, and then is with its owner, or the node and place where it was stored. Its daemon knows, or
 * asks, which nodes have copies. Nothing is fetched, and pending values are not awaited. Only for a received ref that was never awaited is nothing known here: its
 * owner is asked, with a time limit.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { nodeTagOf } from "../../runtime/base/ids.ts";
import { type ObjectEntry } from "../../runtime/objects/object-entry.ts";
import { payloadSize } from "../../runtime/objects/payload.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import type { ObjectLocateHeader, ObjectPlaceHeader } from "../../runtime/wire/objects/transfer-messages.ts";
import { requireRunning } from "../current-runtime.ts";
import { readOptions } from "../options/option-kinds.ts";
import { LOCATIONS } from "../options/operation-options.ts";
import type { Runtime } from "../runtime.ts";
import type { AnyRef, GetOptions } from "../types/types.ts";
import { entryOf, isObjectRef } from "./object-ref.ts";

/** Where a value is, when it was asked. */
export interface ObjectLocations {
  /**
   * The nodes with all bytes of the value, its origin first. For a value below 64 KB, which is not stored, the node of its owner. Empty while the value is pending,
   * after a failure, and if no living node has it.
   */
  readonly nodeIds: string[];
  /** Size of the serialized value; undefined while it is unknown. */
  readonly sizeBytes: number | undefined;
  /** Whether its node has it on disk: spilled, or put there when memory was full. */
  readonly didSpill: boolean;
}

/** Objects in one message, well below the size of a frame. */
const ASKED_AT_ONCE = 5000;

/**
 * Finds the places of references' values, to place work near its data or to find out why something is slow. Nothing is fetched.
 *
 * @param options.timeoutMs time limit on questions to owners of received references that were never awaited here. Default: 1,000 ms
 * @throws TypeError unless given an array of references; NodeDiedError if this node has ended
 * @example
 * const ref = put(new Uint8Array(1_000_000));
 * const { nodeIds, sizeBytes, didSpill } = (await getObjectLocations([ref])).get(ref)!;
 */
export async function getObjectLocations<R extends AnyRef>(refs: readonly R[], options?: GetOptions): Promise<Map<R, ObjectLocations>> {
  if (!Array.isArray(refs)) throw new TypeError(`Cannot tell locations: an array of ObjectRefs is needed: received ${describeValue(refs)}`);
  const wrong = refs.findIndex((ref) => !isObjectRef(ref));
  if (wrong >= 0)
    throw new TypeError(`Cannot tell locations: element ${wrong} is not an ObjectRef: received ${describeValue(refs[wrong])}`);
  const limits = readOptions(options, LOCATIONS);
  if (refs.length === 0) return new Map();
  const runtime = requireRunning();
  const entries = new Map(Array.from(new Set(refs), (ref): [R, ObjectEntry] => [ref, entryOf(ref)]));
  for (const entry of entries.values()) runtime.table.requireOfSession(entry);
  const unknown = Array.from(entries).flatMap(([ref, entry]) => (isUnknown(entry) ? [ref] : []));
  // Two refs of one object count as one that is waited for.
  const asked = Array.from(new Map(unknown.map((ref) => [entries.get(ref), ref])).values());
  if (asked.length > 0) await runtime.wait(asked, { ...limits, numReturns: asked.length, fetchLocal: false });
  return new Map(await runtime.holdWhile(locationsOf(runtime, entries)));
}

/** Tells whether another process owns the object and no reader here has asked for its value. */
function isUnknown(entry: ObjectEntry): boolean {
  return !entry.isSettled && entry.sequence === 0;
}

async function locationsOf<R>(runtime: Runtime, entries: ReadonlyMap<R, ObjectEntry>): Promise<[R, ObjectLocations][]> {
  const { table, daemon, options } = runtime;
  const stored = Array.from(new Set(entries.values())).filter((entry) => entry.state === "ready" && entry.payload?.stored !== undefined);
  const places = new Map<ObjectEntry, ObjectPlaceHeader>();
  for (let start = 0; start < stored.length; start += ASKED_AT_ONCE) {
    const part = stored.slice(start, start + ASKED_AT_ONCE);
    const objects: ObjectLocateHeader = part.flatMap((entry) => {
      const location = entry.payload?.stored?.location;
      return location === undefined ? [] : [[table.idOf(entry), location, entry.owner ?? options.processId] as const];
    });
    const reply = (await daemon.request(MESSAGE.OBJECT_LOCATE, objects)).header;
    for (const [index, place] of reply.entries()) places.set(part[index] as ObjectEntry, place);
  }
  const nodes = (await daemon.request(MESSAGE.NODES, undefined)).header;
  const ids = new Map(nodes.flatMap(({ nodeId, alive }) => (alive ? [[nodeTagOf(nodeId) as string, nodeId]] : [])));
  const named = (tags: readonly string[]): string[] => tags.flatMap((tag) => ids.get(tag) ?? []);
  return Array.from(entries, ([ref, entry]): [R, ObjectLocations] => {
    if (entry.state !== "ready") return [ref, { nodeIds: [], sizeBytes: undefined, didSpill: false }];
    const sizeBytes = payloadSize(table.payloadFor(entry));
    const place = places.get(entry);
    if (place === undefined) return [ref, { nodeIds: named([nodeTagOf(entry.owner ?? options.processId)]), sizeBytes, didSpill: false }];
    const [tags, didSpill] = place;
    return [ref, { nodeIds: named(tags), sizeBytes, didSpill }];
  });
}
