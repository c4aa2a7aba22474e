/**
 * The arguments of a call as they travel, with everything pinned that they need until the call has ended.
 *
 * Top-level refs become dependencies: marks in the bytes, filled in with values before the call is pushed. Small arguments are a range of a shared chunk,
 * others a payload; large ones become an object of their own in the store, which lives as long as the call. Used for tasks, methods and constructors.
 */
import type { IdSource, ProcessId } from "../../runtime/base/ids.ts";
import { nameUnsent } from "../../runtime/closure/capture.ts";
import { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import { NO_BYTES, type Payload } from "../../runtime/objects/payload.ts";
import { type CallTarget, type EncodedArguments, keepBytes } from "./call-record.ts";
import { entryOf, isObjectRef } from "../objects/object-ref.ts";
import { isPythonId, refusedByPython } from "../python/python-code.ts";
import { DependencyMark, type Encoded, type Serializer } from "../serializer.ts";

export interface ArgumentContext {
  readonly processId: ProcessId;
  readonly ids: IdSource;
  readonly table: ObjectTable;
  readonly serializer: Serializer;
}

/** The name of the objects that large arguments are, in messages. */
export const ARGUMENTS_LABEL = "the arguments of a call";

const NO_ENTRIES: readonly ObjectEntry[] = [];

function encodeList(serializer: ArgumentContext["serializer"], args: readonly unknown[], name: string): Encoded {
  try {
    return serializer.encode(args);
  } catch (error) {
    throw nameUnsent(error, () => `the arguments of ${name}`);
  }
}

/**
 * Arguments as they travel; everything they need is pinned.
 *
 * @throws SerializationError for what cannot be sent to any process, or not to one of Python
 */
export function encodeArguments(
  args: readonly unknown[],
  context: ArgumentContext,
  target: Pick<CallTarget, "id" | "name" | "isOpen">,
): EncodedArguments {
  let dependencies: ObjectEntry[] | undefined;
  let marked: unknown[] | undefined;
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index];
    if (!isObjectRef(argument)) continue;
    dependencies ??= [];
    marked ??= args.slice();
    const entry = entryOf(argument);
    context.table.requireOfSession(entry);
    marked[index] = new DependencyMark(dependencies.length);
    dependencies.push(entry);
  }
  const { table, serializer } = context;
  const encoded = encodeList(serializer, marked ?? args, target.name);
  const { graph } = encoded;
  if (graph && (target.isOpen === true || isPythonId(target.id)))
    throw refusedByPython(target.name, serializer.whyNotPlain(marked ?? args));
  if (encoded.isPlain) {
    const { chunk, start, end } = keepBytes(encoded.bytes, encoded.start, encoded.end);
    if (dependencies === undefined) return { chunk, start, end, graph, args: undefined, dependencies: NO_ENTRIES, pinned: NO_ENTRIES };
    for (const entry of dependencies) table.pin(entry);
    return { chunk, start, end, graph, args: undefined, dependencies, pinned: dependencies };
  }
  const pinned = encoded.entries.slice();
  if (dependencies !== undefined) pinned.push(...dependencies);
  const payload = argumentsPayload(encoded, pinned, context);
  for (const entry of pinned) table.pin(entry);
  return { chunk: NO_BYTES, start: 0, end: 0, graph, args: payload, dependencies: dependencies ?? NO_ENTRIES, pinned };
}

function argumentsPayload(encoded: Encoded, pinned: ObjectEntry[], context: ArgumentContext): Payload {
  const { table, serializer, ids, processId } = context;
  const payload = serializer.toPayload(encoded, { owner: processId, error: false });
  if (payload.stored === undefined) return payload;
  // Large arguments are an object of their own, which lives as long as the call.
  const entry = new ObjectEntry(ids.nextSequence(), -1);
  entry.label = ARGUMENTS_LABEL;
  entry.settlePayload(payload);
  const ref = table.publish(entry);
  pinned.push(entry);
  return { ...payload, stored: { id: ref.id, owner: ref.owner, location: payload.stored.location } };
}
