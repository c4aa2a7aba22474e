"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.identityOf = identityOf;
exports.knownIdentity = knownIdentity;
exports.adoptIdentity = adoptIdentity;
/**
 * Classes, unique symbols and weak collections keep one identity wherever they travel.
 *
 * Decides the id (unique for the process that captured the value first, then a counter) and owns the table back from id to value: a
 * worker makes one class for an id whatever definition brought it, and the process where a class was born gets its own class back.
 * Values are held weakly: when nothing else holds a class, nobody can tell a new one from it.
 */
const node_crypto_1 = require("node:crypto");
const PROCESS_TAG = (0, node_crypto_1.randomBytes)(6).toString("hex");
const idByValue = new WeakMap();
const valueById = new Map();
const collected = new FinalizationRegistry((id) => {
  if (!valueById.get(id)?.deref()) valueById.delete(id);
});
let counter = 0;
/** The id of a value, given to it now if it has none. */
function identityOf(value) {
  const known = idByValue.get(value);
  if (known !== undefined) return known;
  counter += 1;
  const id = `${PROCESS_TAG}:${counter}`;
  adoptIdentity(id, value);
  return id;
}
function knownIdentity(id) {
  return valueById.get(id)?.deref();
}
/** Gives a value that was made here the id that it has elsewhere. */
function adoptIdentity(id, value) {
  idByValue.set(value, id);
  valueById.set(id, new WeakRef(value));
  collected.register(value, id);
}
//# sourceMappingURL=identity.js.map
