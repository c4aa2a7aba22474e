/**
 * Shoal's own books in a run, to look into: the ledgers and the lease manager that the daemon keeps to itself.
 *
 * Each book is found at the first call of a method, and belongs to the process that runs then. The invariants of the lease manager, of the
 * table of actors and of the reservations of groups are checked after each event. The books behave as always, unless a run has
 * a mutation, which breaks one of them on purpose to show that the simulation notices (`mutations.ts`).
 */
import { type AmbientProcess, currentProcess } from "./ambient.ts";
import { ActorTable } from "../src/runtime/head/actors/actor-table.ts";
import { GroupReservation } from "../src/runtime/head/placement/group-reservation.ts";
import { LeaseManager } from "../src/runtime/node/leases/lease-manager.ts";
import { KnownValues } from "../src/runtime/node/references/known-values.ts";
import { RefLedger } from "../src/runtime/node/references/ref-ledger.ts";
import { RefValues } from "../src/runtime/node/references/ref-values.ts";
import { StoreLedger } from "../src/runtime/objects/store/store-ledger.ts";
import type { LeaseEffect, LeaseEvent } from "../src/runtime/node/leases/lease-events.ts";

interface Books {
  leases: LeaseManager | undefined;
  refs: RefLedger | undefined;
  values: RefValues | undefined;
  known: KnownValues | undefined;
  store: StoreLedger | undefined;
}

let books = new Map<AmbientProcess | undefined, Books>();
/** Sees each event of the lease manager, and may change or withhold it. */
let tap: LeaseTap = {};

export interface LeaseTap {
  onLeaseEvent?: (event: LeaseEvent, effects: readonly LeaseEffect[]) => void;
  /** @returns the event that is handled instead; undefined for none */
  changeLeaseEvent?: (event: LeaseEvent) => LeaseEvent | undefined;
  /** Sees each change of the ledger of refs. */
  onCount?: (change: Parameters<RefLedger["add"]>[0]) => void;
  changeCount?: (change: Parameters<RefLedger["add"]>[0]) => Parameters<RefLedger["add"]>[0] | undefined;
}

function emptyBooks(): Books {
  return { leases: undefined, refs: undefined, values: undefined, known: undefined, store: undefined };
}

/** For the run that begins. */
export function openBooks(options: LeaseTap): void {
  books = new Map();
  tap = options;
}

/** Returns the books of a daemon. */
export function booksOf(node: AmbientProcess): Readonly<Books> {
  return books.get(node) ?? emptyBooks();
}

function own(): Books {
  const node = currentProcess();
  let found = books.get(node);
  if (found === undefined) {
    found = emptyBooks();
    books.set(node, found);
  }
  return found;
}

const handle = LeaseManager.prototype.handle;
LeaseManager.prototype.handle = function (event) {
  own().leases = this;
  const changed = tap.changeLeaseEvent === undefined ? event : tap.changeLeaseEvent(event);
  const effects = changed === undefined ? [] : handle.call(this, changed);
  this.checkInvariants();
  tap.onLeaseEvent?.(event, effects);
  return effects;
};

const handleActor = ActorTable.prototype.handle;
ActorTable.prototype.handle = function (event) {
  const effects = handleActor.call(this, event);
  this.checkInvariants();
  return effects;
};

const handleGroup = GroupReservation.prototype.handle;
GroupReservation.prototype.handle = function (event) {
  const effects = handleGroup.call(this, event);
  this.checkInvariants();
  return effects;
};

const add = RefLedger.prototype.add;
RefLedger.prototype.add = function (change) {
  own().refs = this;
  tap.onCount?.(change);
  const changed = tap.changeCount === undefined ? change : tap.changeCount(change);
  return changed === undefined ? undefined : add.call(this, changed);
};

const adopt = RefValues.prototype.adopt;
RefValues.prototype.adopt = function (id, maker) {
  own().values = this;
  adopt.call(this, id, maker);
};

const told = KnownValues.prototype.told;
KnownValues.prototype.told = function (id, value) {
  own().known = this;
  told.call(this, id, value);
};

const arenaChanged = StoreLedger.prototype.arenaChanged;
StoreLedger.prototype.arenaChanged = function (change) {
  own().store = this;
  arenaChanged.call(this, change);
};
