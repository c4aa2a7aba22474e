"use strict";
/**
 * Which prototype objects belong to twins that `private-state` made, and for which class: an instance of a twin is sent on as an
 * instance of the class. Written by `private-state`, read by `capture-object`.
 */
Object.defineProperty(exports, "__esModule", { value: true });
exports.recordTwin = recordTwin;
exports.originalOfTwin = originalOfTwin;
const originals = new WeakMap();
function recordTwin(prototype, original) {
  originals.set(prototype, original);
}
/** The class that the twin with this prototype stands in for. */
function originalOfTwin(prototype) {
  return originals.get(prototype);
}
//# sourceMappingURL=twin-table.js.map
