/**
 * The head's tables, which record the changes of each event as writes of the control store.
 *
 * A head of a cluster has these in place of the plain ones; that of one machine, which ends with its node, has nothing to remember and pays nothing. Which records an event changed follows
 * from the event and its effects, so the tables know nothing of this. Invariant: between an event and the `takeWrites` after it nothing else is handled.
 */
import type { ActorId, NodeTag, ObjectId } from "../../base/ids.ts";
import type { DefinitionHeader } from "../../wire/calls/definition-messages.ts";
import type { EnvironmentHeader } from "../../wire/messages.ts";
import { type ActorEffect, type ActorEvent, type ActorRecord, ActorTable, type Alias } from "../actors/actor-table.ts";
import { DefinitionTable, type StoredDefinition } from "../definition-table.ts";
import { EnvironmentDescriptions } from "../environment-descriptions.ts";
import { type ExtensionRecord, ExtensionRecords, recordId } from "../extension-records.ts";
import { idOf, type KeyValue, KeyValues } from "../key-values.ts";
import { DEAD_NODES_MAX } from "../limits.ts";
import { HeadRecords, type HeadTables, type NodeRecord } from "./head-records.ts";
import { type GroupEffect, type GroupEvent, type GroupRecord, PlacementGroupTable } from "../placement/placement-group-table.ts";
import type { StoreEntry, StoreWrite } from "../../control-plane/control-store.ts";

export class RecordedTables {
  readonly actors = new RecordedActors();
  readonly groups = new RecordedGroups();
  readonly definitions = new RecordedDefinitions();
  readonly environments = new RecordedEnvironments();
  readonly values = new RecordedValues();
  readonly extensionRecords = new RecordedExtensions();
  readonly #records = new HeadRecords();
  readonly #deadNodes: NodeRecord[] = [];
  readonly #writes: StoreWrite[] = [];

  /** Restores an earlier head's tables from a listing of everything under `HEAD_PREFIX`. @returns the tables, for recovery */
  restore(entries: readonly StoreEntry[]): HeadTables {
    const tables = this.#records.read(entries);
    this.actors.restore(tables.actors, tables.aliases);
    this.actors.dead.push(...tables.actors.filter(({ phase }) => phase === "dead").map(({ id }) => id));
    this.groups.restore(tables.groups);
    this.definitions.restore(tables.definitions);
    this.definitions.take();
    for (const description of tables.environments) this.environments.described(description);
    this.environments.take();
    for (const value of tables.values) this.values.put(value, { overwrite: true });
    this.values.take();
    for (const record of tables.extensions) this.extensionRecords.put(record);
    this.extensionRecords.take();
    this.#deadNodes.push(...tables.nodes.filter(({ state }) => state === "dead"));
    return tables;
  }

  /** Adds actors that a node reports and no table has; known ones stay unchanged. */
  adopt(actors: readonly ActorRecord[]): void {
    const unknown = actors.filter(({ id }) => this.actors.get(id) === undefined);
    this.actors.restore(unknown, new Map());
    for (const { id } of unknown) this.actors.note(id, true);
  }

  /** Adds groups that no table has. @returns the unknown ones */
  adoptGroups(groups: readonly GroupRecord[]): GroupRecord[] {
    const unknown = groups.filter(({ header: { id } }) => this.groups.get(id) === undefined && !this.groups.isRemoved(id));
    this.groups.restore(unknown);
    for (const { header } of unknown) this.groups.note(header.id);
    return unknown;
  }

  node(record: NodeRecord): void {
    this.#writes.push(...this.#records.node(record));
    if (record.state !== "dead") return;
    this.#deadNodes.push(record);
    const oldest = this.#deadNodes.length > DEAD_NODES_MAX ? this.#deadNodes.shift() : undefined;
    if (oldest !== undefined) this.#writes.push(...this.#records.nodeForgotten(oldest.nodeId, oldest.incarnation));
  }

  /** Returns the changes since the last call. */
  takeWrites(): StoreWrite[] {
    const writes = this.#writes.splice(0);
    for (const [id, change] of this.actors.take()) {
      const actor = this.actors.get(id);
      if (actor !== undefined) writes.push(...this.#records.actor(actor, { isNew: change === "new" }));
    }
    for (const id of this.actors.takeForgotten()) writes.push(...this.#records.actorForgotten(id));
    for (const [id, alias] of this.actors.takeAliases()) writes.push(...this.#records.alias(id, alias));
    for (const id of this.groups.take()) writes.push(...this.#records.group(id, this.groups.get(id)));
    for (const description of this.environments.take()) writes.push(...this.#records.environment(description));
    for (const [id, value] of this.values.take()) writes.push(...this.#records.value(id, value));
    for (const { value, ...name } of this.extensionRecords.take()) writes.push(...this.#records.extensionRecord(name, value));
    for (const definition of this.definitions.take()) writes.push(...this.#records.definition(definition));
    for (const [reference, contentId] of this.definitions.takeUnheld())
      writes.push(...this.#records.definitionUnheld(reference, contentId));
    return writes;
  }
}

class RecordedActors extends ActorTable {
  /** In the order of their deaths, until the table has forgotten them. */
  readonly dead: ActorId[] = [];
  readonly #changed = new Map<ActorId, "new" | "old">();
  readonly #aliases = new Map<ActorId, Alias | undefined>();

  override handle(event: ActorEvent): ActorEffect[] {
    const touched = "id" in event ? event.id : "worker" in event ? this.byWorker(event.worker)?.id : undefined;
    const isNew = event.kind === "create" && this.get(event.id) === undefined;
    const hadAlias = event.kind === "unheld" && this.aliasOf(event.id) !== undefined;
    const effects = super.handle(event);
    if (event.kind === "watch") return effects;
    if (event.kind === "found") this.#aliases.set(event.id, this.aliasOf(event.id));
    if (hadAlias) this.#aliases.set((event as { id: ActorId }).id, undefined);
    if (touched !== undefined) this.note(touched, isNew);
    for (const { kind, actor } of effects) {
      this.note(actor.id, false);
      if (kind === "gone" && actor.phase === "dead") this.dead.push(actor.id);
    }
    return effects;
  }

  take(): ReadonlyMap<ActorId, "new" | "old"> {
    return drained(this.#changed);
  }

  takeAliases(): ReadonlyMap<ActorId, Alias | undefined> {
    return drained(this.#aliases);
  }

  takeForgotten(): ActorId[] {
    const forgotten: ActorId[] = [];
    for (let oldest = this.dead[0]; oldest !== undefined && this.get(oldest) === undefined; oldest = this.dead[0]) {
      forgotten.push(oldest);
      this.dead.shift();
    }
    return forgotten;
  }

  note(id: ActorId, isNew: boolean): void {
    if (isNew || !this.#changed.has(id)) this.#changed.set(id, isNew ? "new" : "old");
  }
}

class RecordedGroups extends PlacementGroupTable {
  readonly #changed = new Set<string>();
  readonly #removed: string[] = [];

  override handle(event: GroupEvent): GroupEffect[] {
    if (event.kind === "create") this.#changed.add(event.header.id);
    else if ("id" in event) this.#changed.add(event.id);
    const effects = super.handle(event);
    for (const { kind, group } of effects) {
      this.#changed.add(group.header.id);
      if (kind === "release") this.#removed.push(group.header.id);
    }
    return effects;
  }

  override restore(groups: readonly GroupRecord[]): void {
    super.restore(groups);
    this.#removed.push(...groups.filter(({ header }) => header.state === "removed").map(({ header }) => header.id));
  }

  note(id: string): void {
    this.#changed.add(id);
  }

  /** Includes the records that the table has forgotten. */
  take(): ReadonlySet<string> {
    const changed = new Set(this.#changed);
    this.#changed.clear();
    for (let oldest = this.#removed[0]; oldest !== undefined && this.get(oldest) === undefined; oldest = this.#removed[0]) {
      changed.add(oldest);
      this.#removed.shift();
    }
    return changed;
  }
}

class RecordedDefinitions extends DefinitionTable {
  #defined: StoredDefinition[] = [];
  /** By reference, with the content that nobody needs any more. */
  readonly #unheld = new Map<ObjectId, string | undefined>();

  override define(header: DefinitionHeader, body: Uint8Array): void {
    const { id, reference } = header;
    const isKnown = this.has(id) && (reference === undefined || this.contentOf(reference) !== undefined);
    super.define(header, body);
    if (!isKnown) this.#defined.push({ header: { ...header, number: 0 }, body: this.find(id)?.body ?? body });
  }

  override unheld(reference: ObjectId, node: NodeTag): void {
    const contentId = this.contentOf(reference);
    super.unheld(reference, node);
    if (contentId === undefined || this.contentOf(reference) !== undefined) return;
    // A definition that was made and dropped since the last writes is never written.
    this.#defined = this.#defined.filter(({ header }) => header.reference !== reference);
    this.#unheld.set(reference, this.has(contentId) ? undefined : contentId);
  }

  take(): StoredDefinition[] {
    return this.#defined.splice(0);
  }

  takeUnheld(): ReadonlyMap<ObjectId, string | undefined> {
    return drained(this.#unheld);
  }
}

class RecordedEnvironments extends EnvironmentDescriptions {
  readonly #described: EnvironmentHeader[] = [];

  override described(description: EnvironmentHeader): void {
    if (!this.has(description.key)) this.#described.push(description);
    super.described(description);
  }

  take(): EnvironmentHeader[] {
    return this.#described.splice(0);
  }
}

class RecordedValues extends KeyValues {
  readonly #changed = new Map<string, KeyValue | undefined>();

  override put(value: KeyValue, how: { overwrite: boolean }): boolean {
    const before = this.get(value);
    const isPut = super.put(value, how);
    const after = this.get(value);
    if (after !== before) this.#changed.set(idOf(value), after);
    return isPut;
  }

  override delete(name: { namespace: string; key: string }): boolean {
    const wasThere = super.delete(name);
    if (wasThere) this.#changed.set(idOf(name), undefined);
    return wasThere;
  }

  take(): ReadonlyMap<string, KeyValue | undefined> {
    return drained(this.#changed);
  }
}

class RecordedExtensions extends ExtensionRecords {
  readonly #changed = new Map<string, ExtensionRecord>();

  override put(record: ExtensionRecord): void {
    super.put(record);
    this.#changed.set(recordId(record), record);
  }

  override delete(name: Omit<ExtensionRecord, "value">): boolean {
    const wasThere = super.delete(name);
    if (wasThere) this.#changed.set(recordId(name), { ...name, value: undefined });
    return wasThere;
  }

  take(): Iterable<ExtensionRecord> {
    return drained(this.#changed).values();
  }
}

/** Takes all out of a map. */
function drained<Key, Value>(map: Map<Key, Value>): ReadonlyMap<Key, Value> {
  const all = new Map(map);
  map.clear();
  return all;
}
