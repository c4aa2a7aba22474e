"use strict";
/**
 * The runtime's own exports, known on every process under the same name.
 *
 * Decides that `remote`, `get`, `ObjectRef` and the like are never shipped by value, even when the runtime is bundled into the user's
 * program. The core registers them at start; `capture` asks by value, `revive` by name.
 */
Object.defineProperty(exports, "__esModule", { value: true });
exports.registerWellKnown = registerWellKnown;
exports.wellKnownId = wellKnownId;
exports.wellKnownValue = wellKnownValue;
exports.wellKnownMembers = wellKnownMembers;
const idByValue = new WeakMap();
const valueById = new Map();
/** @param id - the same on every process of one version, such as `shoal:get` */
function registerWellKnown(id, value) {
  idByValue.set(value, id);
  valueById.set(id, value);
}
function wellKnownId(value) {
  return idByValue.get(value);
}
function wellKnownValue(id) {
  return valueById.get(id);
}
/** Larger objects are no module namespace of ours. */
const NAMESPACE_MEMBERS_MAX = 500;
/**
 * The runtime's own module as some import form has it: a namespace, what `require` returned, an interop wrapper around that. Loaders may load a
 * second copy of the runtime for `require` (tsx does), so a worker must get the exports of its own copy.
 */
function wellKnownMembers(value) {
  const names = Object.keys(value);
  if (names.length === 0 || names.length > NAMESPACE_MEMBERS_MAX) return undefined;
  const members = [];
  for (const name of names) {
    const member = readMember(value, name);
    const id = isObjectLike(member) ? idByValue.get(member) : undefined;
    if (id !== undefined) members.push([name, id]);
  }
  return members.length > 0 ? members : undefined;
}
function isObjectLike(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
function readMember(owner, name) {
  try {
    return owner[name];
  } catch {
    return undefined; // an export that is not initialized yet
  }
}
//# sourceMappingURL=well-known.js.map
