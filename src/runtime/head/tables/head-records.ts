/**
 * The head's tables as keys and values of the control store, and back.
 *
 * Everything is under `head`. An actor is two records. Its creation is written once and cut short at its death; its state is small and
 * written at each change, so the name needs no separate key. A value is a header and bytes, and a long one is spread over several keys of
 * one commit. Pure. Invariant: a read returns the written value, and a record that cannot be written is refused before anybody learns that
 * it exists.
 */
import { copyBytes } from "../../base/collections/bytes.ts";
import type { ActorId, NodeId } from "../../base/ids.ts";
import { nodeInfo, workerFacts } from "../../wire/cluster/cluster-messages.ts";
import { decodeHeader, encodeHeader } from "../../wire/header.ts";
import * as shapes from "../../wire/header-shape.ts";
import type { HeadersOf, Shapes } from "../../wire/tables/message-table.ts";
import { DecodeError } from "../../wire/value/decode-error.ts";
import { type DefinitionHeader, definition } from "../../wire/calls/definition-messages.ts";
import {
  actorEnding,
  actorOptions,
  actorPhase,
  type EnvironmentHeader,
  environment,
  groupEntry,
  payload,
  refusal as refusalShape,
  workerExit,
} from "../../wire/messages.ts";
import type { ActorRecord, Alias } from "../actors/actor-table.ts";
import type { StoredDefinition } from "../definition-table.ts";
import { type ExtensionRecord, recordId } from "../extension-records.ts";
import type { KeyValue } from "../key-values.ts";
import { RECORD_BYTES_MAX } from "../../wire/limits.ts";
import { VALUE_BYTES_MAX } from "../../control-plane/limits.ts";
import type { GroupRecord } from "../placement/placement-group-table.ts";
import type { StoreEntry, StoreWrite } from "../../control-plane/control-store.ts";
import { storeKey } from "../../control-plane/store-keys.ts";

const { actorId, either, exactly, fields, flag, list, number, optional, orUndefined, problemOf, processId, text, unchecked } = shapes;

export const HEAD_PREFIX = "head";

const RECORDS = {
  actor: fields({
    phase: actorPhase,
    incarnation: number,
    restartsLeft: number,
    deathsInARow: number,
    worker: orUndefined(workerFacts),
    isEnding: flag,
    ending: orUndefined(actorEnding),
    reason: orUndefined(text),
    exit: orUndefined(workerExit),
    refusal: orUndefined(refusalShape),
    error: orUndefined(payload),
    order: number,
  }),
  spec: fields({
    creator: processId,
    options: actorOptions,
    /** Undefined for the dead. */
    start: orUndefined(fields({ definition: text, args: payload, deps: list(payload) })),
  }),
  alias: fields({ existing: actorId, creator: processId }),
  group: fields({ header: groupEntry, owner: orUndefined(either(processId, actorId)), reason: orUndefined(text) }),
  definition,
  /** The same by another id of the definition. */
  name: definition,
  environment,
  node: fields({
    nodeId: shapes.nodeId,
    incarnation: text,
    state: exactly("alive", "suspect", "dead"),
    reason: orUndefined(text),
    info: orUndefined(nodeInfo),
    /** Time at which a head found the node dead, in milliseconds since 1970 by its clock. Records of version 0.1.0 lack it. */
    goneMs: optional(number),
    /** Whether the node is draining. */
    isDraining: optional(flag),
  }),
  value: fields({ namespace: text, key: text, form: exactly("bytes", "json"), by: text }),
  extension: fields({ extension: text, table: text, key: text, value: unchecked<unknown>() }),
};
type Headers = HeadersOf<typeof RECORDS>;
type RecordKind = keyof Headers;

/** An incarnation of a node's daemon. Dead ones are kept, so that none returns. */
export type NodeRecord = Headers["node"];

/** Tables that an earlier head kept. */
export interface HeadTables {
  readonly actors: ActorRecord[];
  readonly aliases: Map<ActorId, Alias>;
  readonly groups: GroupRecord[];
  /** By id and by content id. */
  readonly definitions: readonly StoredDefinition[];
  readonly environments: EnvironmentHeader[];
  readonly nodes: NodeRecord[];
  readonly values: KeyValue[];
  readonly extensions: ExtensionRecord[];
}

interface StoredRecord<Header> {
  readonly id: string;
  readonly header: Header;
  readonly body: Uint8Array;
}

const NOTHING = new Uint8Array(0);

export class HeadRecords {
  /** Number of further keys of a record, if not zero. */
  readonly #furtherParts = new Map<string, number>();
  #order = 0;
  readonly #orders = new Map<ActorId, number>();

  /** Writes of a changed actor: its creation is written only when the actor is new or dead. */
  actor(actor: ActorRecord, { isNew }: { isNew: boolean }): StoreWrite[] {
    const { id, creator, options, spec, phase, incarnation, restartsLeft, deathsInARow, worker, isEnding, ending, reason } = actor;
    const { exit, refusal, error } = actor;
    const writes: StoreWrite[] = [];
    if (isNew || phase === "dead") {
      const start = spec && { definition: spec.definition, args: spec.args, deps: spec.deps };
      writes.push(...this.#put("spec", id, { header: { creator, options, start } satisfies Headers["spec"], body: spec?.body ?? NOTHING }));
    }
    const order = this.#orderOf(id);
    const header: Headers["actor"] = {
      phase,
      incarnation,
      restartsLeft,
      deathsInARow,
      worker,
      isEnding,
      ending,
      reason,
      exit,
      refusal,
      error: error?.header,
      order,
    };
    writes.push(...this.#put("actor", id, { header, body: error?.body ?? NOTHING }));
    return writes;
  }

  actorForgotten(id: ActorId): StoreWrite[] {
    this.#orders.delete(id);
    return [...this.#delete("spec", id), ...this.#delete("actor", id)];
  }

  alias(id: ActorId, alias: Alias | undefined): StoreWrite[] {
    return alias === undefined ? this.#delete("alias", id) : this.#put("alias", id, { header: alias, body: NOTHING });
  }

  group(id: string, group: GroupRecord | undefined): StoreWrite[] {
    return group === undefined ? this.#delete("group", id) : this.#put("group", id, { header: group, body: NOTHING });
  }

  /** By its content, which may be known under several ids. */
  definition({ header, body }: StoredDefinition): StoreWrite[] {
    const writes = this.#put("definition", header.contentId, { header, body });
    if (header.id === header.contentId && header.reference === undefined) return writes;
    const name = header.reference ?? header.id;
    return [...writes, ...this.#put("name", name, { header: header satisfies DefinitionHeader, body: NOTHING })];
  }

  /** Writes of the end of a definition's reference. The content goes with its last reference. */
  definitionUnheld(reference: string, contentId: string | undefined): StoreWrite[] {
    return [...this.#delete("name", reference), ...(contentId === undefined ? [] : this.#delete("definition", contentId))];
  }

  environment(description: EnvironmentHeader): StoreWrite[] {
    return this.#put("environment", description.key, { header: description, body: NOTHING });
  }

  node(record: NodeRecord): StoreWrite[] {
    return this.#put("node", `${record.nodeId}-${record.incarnation}`, { header: record, body: NOTHING });
  }

  nodeForgotten(nodeId: NodeId, incarnation: string): StoreWrite[] {
    return this.#delete("node", `${nodeId}-${incarnation}`);
  }

  value(id: string, value: KeyValue | undefined): StoreWrite[] {
    if (value === undefined) return this.#delete("value", id);
    const { body, ...header } = value;
    return this.#put("value", id, { header, body });
  }

  /** Writes a record of an extension's table, or deletes it without a value. */
  extensionRecord(name: Omit<ExtensionRecord, "value">, value: unknown): StoreWrite[] {
    const id = recordId(name);
    if (value === undefined) return this.#delete("extension", id);
    return this.#put("extension", id, { header: { ...name, value } satisfies ExtensionRecord, body: NOTHING });
  }

  /** From a listing of everything under `HEAD_PREFIX`. */
  read(entries: readonly StoreEntry[]): HeadTables {
    const values = new Map<string, Uint8Array>();
    for (const { key, value } of entries) values.set(key, value);
    const keys = Map.groupBy(values.keys(), kindOf);
    const read = <K extends RecordKind>(kind: K): StoredRecord<Headers[K]>[] =>
      (keys.get(kind) ?? []).map((key) => this.#readRecord((RECORDS as Shapes<Headers>)[kind], key, values));
    const headers = <K extends RecordKind>(kind: K): Headers[K][] => read(kind).map(({ header }) => header);
    return {
      actors: this.#readActors(read("spec"), read("actor")),
      aliases: new Map(read("alias").map(({ id, header }) => [id as ActorId, header])),
      groups: headers("group"),
      definitions: readDefinitions(read("definition"), headers("name")),
      environments: headers("environment"),
      // The dead in the order in which they died: the oldest are forgotten first.
      nodes: headers("node").sort((a, b) => (a.goneMs ?? 0) - (b.goneMs ?? 0)),
      values: read("value").map(({ header, body }) => ({ ...header, body })),
      extensions: headers("extension"),
    };
  }

  #readActors(specs: readonly StoredRecord<Headers["spec"]>[], states: readonly StoredRecord<Headers["actor"]>[]): ActorRecord[] {
    const specOf = new Map(specs.map((spec) => [spec.id, spec]));
    const found: { order: number; record: ActorRecord }[] = [];
    for (const { id, header, body: errorBody } of states) {
      const spec = specOf.get(id);
      if (spec === undefined) continue;
      const { error, order, ...state } = header;
      const { creator, options, start } = spec.header;
      this.#order = Math.max(this.#order, order + 1);
      this.#orders.set(id as ActorId, order);
      const record: ActorRecord = {
        id: id as ActorId,
        options,
        creator,
        spec: start && { ...start, body: spec.body },
        watchers: new Set(),
        startedMs: 0,
        ...state,
        error: error && { header: error, body: errorBody },
      };
      found.push({ order, record });
    }
    return found.toSorted((a, b) => a.order - b.order).map(({ record }) => record);
  }

  /** Listings tell the order of the keys, tables that of creation. */
  #orderOf(id: ActorId): number {
    const known = this.#orders.get(id);
    if (known !== undefined) return known;
    this.#orders.set(id, this.#order);
    this.#order += 1;
    return this.#order - 1;
  }

  #put(kind: RecordKind, id: string, { header, body }: { header: unknown; body: Uint8Array }): StoreWrite[] {
    const key = keyOf(kind, id);
    const bytes = join(encodeHeader(header), body);
    if (bytes.byteLength > RECORD_BYTES_MAX) throw new RangeError(tooLong(kind, id, bytes.byteLength));
    const writes: StoreWrite[] = [];
    for (let at = 0; at < bytes.byteLength; at += VALUE_BYTES_MAX) {
      const part = at / VALUE_BYTES_MAX;
      writes.push({ key: part === 0 ? key : `${key}.${part}`, value: bytes.subarray(at, at + VALUE_BYTES_MAX) });
    }
    const before = this.#furtherParts.get(key) ?? 0;
    for (let part = writes.length; part <= before; part += 1) writes.push({ key: `${key}.${part}` });
    this.#remember(key, Math.ceil(bytes.byteLength / VALUE_BYTES_MAX) - 1);
    return writes;
  }

  #delete(kind: RecordKind, id: string): StoreWrite[] {
    const key = keyOf(kind, id);
    const writes: StoreWrite[] = [{ key }];
    for (let part = 1; part <= (this.#furtherParts.get(key) ?? 0); part += 1) writes.push({ key: `${key}.${part}` });
    this.#furtherParts.delete(key);
    return writes;
  }

  #remember(key: string, furtherParts: number): void {
    if (furtherParts > 0) this.#furtherParts.set(key, furtherParts);
    else this.#furtherParts.delete(key);
  }

  /** @throws DecodeError for a record that no head has written: nothing is decided on half of the state */
  #readRecord<Header>(shape: shapes.Shape<Header>, key: string, values: ReadonlyMap<string, Uint8Array>): StoredRecord<Header> {
    const first = values.get(key) ?? NOTHING;
    const pieces = [first];
    for (let piece = values.get(`${key}.1`); piece !== undefined; piece = values.get(`${key}.${pieces.length}`)) pieces.push(piece);
    this.#remember(key, pieces.length - 1);
    const bytes = pieces.length === 1 ? first : new Uint8Array(Buffer.concat(pieces));
    const headerBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const header = decodeHeader(bytes.subarray(4, 4 + headerBytes));
    if (!shape(header)) throw new DecodeError(`Cannot read the record ${key} of the head: ${problemOf(shape, header)}`);
    return { id: key.split(".")[2] ?? "", header, body: copyBytes(bytes, 4 + headerBytes) };
  }
}

function readDefinitions(contents: readonly StoredDefinition[], names: readonly DefinitionHeader[]): StoredDefinition[] {
  const bodies = new Map(contents.map(({ header, body }) => [header.contentId, body]));
  const named = names.flatMap((header) => {
    const body = bodies.get(header.contentId);
    return body === undefined ? [] : [{ header, body }];
  });
  const withName = new Set(named.map(({ header }) => header.contentId));
  return [...named, ...contents.filter(({ header }) => !withName.has(header.contentId)).map(({ header, body }) => ({ header, body }))];
}

/** Undefined for the further parts of a record, and for unknown keys. */
function kindOf(key: string): string | undefined {
  const [prefix, kind, id, part] = key.split(".");
  return prefix === HEAD_PREFIX && part === undefined && id !== undefined ? kind : undefined;
}

function keyOf(kind: RecordKind, id: string): string {
  return storeKey(HEAD_PREFIX, kind, id);
}

function join(header: Uint8Array, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4 + header.byteLength + body.byteLength);
  new DataView(bytes.buffer).setUint32(0, header.byteLength, true);
  bytes.set(header, 4);
  bytes.set(body, 4 + header.byteLength);
  return bytes;
}

function tooLong(kind: RecordKind, id: string, bytes: number): string {
  return `Cannot keep the record ${kind} ${id}: it may have ${RECORD_BYTES_MAX} bytes: received ${bytes}`;
}
