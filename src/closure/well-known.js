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
//# sourceMappingURL=well-known.js.map