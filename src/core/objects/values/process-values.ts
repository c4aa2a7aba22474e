/**
 * The values of this process and their wire forms: the serializer, and the functions and classes whose definitions travel beside values.
 *
 * Built on the objects. `functions` has the definitions made here, `definitions` the received ones. Both read and write values, and the serializer asks both for the
 * functions inside a value. Large definitions are stored like any object.
 */
import { copyBytes } from "../../../runtime/base/collections/bytes.ts";
import type { ObjectId, ProcessId } from "../../../runtime/base/ids.ts";
import type { Definition } from "../../../runtime/closure/capture.ts";
import { DefinitionCache } from "../../../runtime/objects/definition-cache.ts";
import { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import { type ContainedRef, inBandPayload, NO_BYTES, type Payload } from "../../../runtime/objects/payload.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import { MESSAGE, type StoredHeader } from "../../../runtime/wire/messages.ts";
import { FETCH_FOR } from "../../../runtime/wire/objects/transfer-messages.ts";
import { type FunctionRow, FunctionTable } from "../../calls/definitions/function-table.ts";
import type { RuntimeOptions } from "../../runtime-options.ts";
import { Serializer } from "../../serializer.ts";
import { entryOf } from "../object-ref.ts";
import type { ProcessObjects } from "./process-objects.ts";

interface ValuePorts {
  readonly daemon: Connection;
  readonly objects: ProcessObjects;
  /** Brings back an object whose bytes a read found gone: what to wait for, or undefined when the error is about something else. */
  readonly recover: (error: unknown) => Promise<void> | undefined;
  /** No call of a function is made any more. */
  readonly onFunctionGone: (id: string) => void;
}

export class ProcessValues {
  readonly serializer: Serializer;
  readonly definitions: DefinitionCache;
  readonly functions: FunctionTable;
  readonly #options: RuntimeOptions;
  readonly #objects: ProcessObjects;

  constructor(options: RuntimeOptions, { daemon, objects, recover, onFunctionGone }: ValuePorts) {
    this.#options = options;
    this.#objects = objects;
    const { processId, nodeId, daemonId, ids } = options;
    const { table, store, channel } = objects;
    const definitions = new DefinitionCache({
      table,
      hooksFor: (refs) => serializer.readingHooks(refs),
      readStored: (stored) => this.#readStored(stored),
      fetch: async (id) => {
        const { header, body } = await daemon.request(MESSAGE.FETCH_DEFINITION, id);
        // A fetched definition was sent to no particular process, so no sender holds its references for this one.
        for (const [ref, owner] of header.refs) channel.hold({ id: ref, owner, holder: processId });
        if (header.stored !== undefined) channel.hold({ id: header.stored.id, owner: header.stored.owner, holder: processId });
        return { header, body };
      },
    });
    const publishDefinition = (definition: Definition): ObjectEntry => functions.publishClass(definition);
    const serializer = new Serializer({ processId, nodeId, pid: process.pid, table, store, definitions, publishDefinition, recover });
    const functions = new FunctionTable({
      idPrefix: processId.slice(16),
      capture: (target) => serializer.captureDefinition(target),
      newReference: () => {
        const reference = table.adoptForeign({ id: ids.putId(ids.nextSequence()), owner: daemonId });
        table.pin(reference);
        return reference;
      },
      table,
      onGone: onFunctionGone,
      publish: ({ header, parts, payloads, reference }) => {
        const isOther = ({ id }: ContainedRef): boolean => id !== reference.id;
        // A definition that held itself would never go.
        for (const payload of payloads) table.holdFor(daemonId, { ...payload, refs: payload.refs.filter(isOther) });
        daemon.send(MESSAGE.DEFINE, { ...header, number: 0 }, { parts });
      },
      store: (definition) => this.#storeDefinition(definition),
      onNote: (note) => {
        if (note.startsWith("WARNING")) options.onWarning(note);
      },
      runsLocally: options.runsLocally ?? options.mode === "inProcess",
      checkLocal: options.checkLocal,
    });
    this.definitions = definitions;
    this.serializer = serializer;
    this.functions = functions;
  }

  /** A settled entry in serialized form, also when it is a cached primitive or a failure made here. */
  payloadOf(entry: ObjectEntry): Payload {
    if (entry.payload !== undefined) return entry.payload;
    if (entry.state === "failed") {
      const encoded = this.serializer.encodeError(entry.failure, { name: entry.label });
      return this.serializer.toPayload(encoded, { owner: this.#options.processId, error: true });
    }
    const encoded = this.serializer.encode(entry.primitive);
    // Kept for the next receiver: the same argument may go to many calls.
    entry.payload = inBandPayload(copyBytes(encoded.bytes, encoded.start, encoded.end), { graph: false, error: false });
    return entry.payload;
  }

  /** Returns the error of a failed entry, which counts as seen from now on. */
  async failureOf(entry: ObjectEntry): Promise<unknown> {
    entry.failureSeen = true;
    const { payload } = entry;
    if (payload === undefined) return entry.failure;
    try {
      return (await this.serializer.decode(payload, entry.contained === undefined ? {} : { refs: entry.contained })).value;
    } catch (error) {
      return error;
    }
  }

  /** Returns the reference that travels with a remote function or class in a value; undefined if nothing is counted. */
  referenceOf(row: FunctionRow): { ref: ContainedRef; entry: ObjectEntry } | undefined {
    const entry = this.functions.publish(row) ?? (row.held === undefined ? undefined : entryOf(row.held));
    return entry === undefined ? undefined : { ref: this.#objects.table.publish(entry), entry };
  }

  #storeDefinition(definition: Definition): { payload: Payload; entry: ObjectEntry } {
    const { ids, processId } = this.#options;
    const { store, table } = this.#objects;
    const location = store.write(definition.bytes, definition.buffers, { owner: processId });
    const payload = storedPayload({ id: "" as ObjectId, owner: "" as ProcessId, location });
    const entry = new ObjectEntry(ids.nextSequence(), -1);
    entry.settlePayload(payload);
    table.pin(entry);
    return { payload: table.payloadFor(entry), entry };
  }

  /** The bytes of a definition that lies in the store, mapped. The entry is pinned. */
  async #readStored(stored: StoredHeader): Promise<{ parts: { inBand: Uint8Array; buffers: readonly Uint8Array[] }; entry: ObjectEntry }> {
    const { store, table } = this.#objects;
    const entry = table.receiveStored(stored, storedPayload(stored));
    if (!store.copies.isOfNode(stored.location)) await store.copies.bring(stored.location, entry, FETCH_FOR.WAIT);
    return { parts: store.read(stored.location, entry), entry };
  }
}

function storedPayload(stored: StoredHeader): Payload {
  return { ...inBandPayload(NO_BYTES, { graph: true, error: false }), stored };
}
