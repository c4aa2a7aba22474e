"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.recordRevivedCode = recordRevivedCode;
exports.revivedCodeOf = revivedCodeOf;
exports.recordRevivedSource = recordRevivedSource;
exports.revivedSourceAt = revivedSourceAt;
const codeByFunction = new WeakMap();
/** Grows with the distinct texts that were revived: as much as the program has code. */
const sourceByUrl = new Map();
function recordRevivedCode(target, code) {
  codeByFunction.set(target, code);
}
function revivedCodeOf(target) {
  return codeByFunction.get(target);
}
function recordRevivedSource(url, source) {
  sourceByUrl.set(url, source);
}
function revivedSourceAt(url) {
  return sourceByUrl.get(url);
}
//# sourceMappingURL=revived-code.js.map
