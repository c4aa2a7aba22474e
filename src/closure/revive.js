"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.reviveDefinition = reviveDefinition;
exports.reviveValue = reviveValue;
/**
 * Makes values from what `capture` wrote, in this process: the entry of this folder's reviving half, called by the core and the workers.
 *
 * Decides the order: imports and definitions first, the only part that waits; then the texts of functions and classes; then the content of
 * objects, which are begun empty so that cycles close. No user code runs on the way except computed member names of classes. Static
 * initializers, constructors and field initializers do not run. A class that this process knows by its identity is used as it is.
 */
const node_crypto_1 = require("node:crypto");
const errors_ts_1 = require("../base/errors.js");
const decode_ts_1 = require("../wire/value/decode.js");
const evaluate_text_ts_1 = require("./evaluate-text.js");
const graph_ts_1 = require("./graph.js");
const graph_reviver_ts_1 = require("./graph-reviver.js");
const revive_imports_ts_1 = require("./revive-imports.js");
/** @throws SerializationError when an import cannot be made here or the bytes are of another version */
function reviveDefinition(bytes, buffers, context) {
  return reviveGraph(bytes, buffers, { context, definition: definitionId(bytes, buffers) });
}
/** @throws SerializationError when an import cannot be made here or the bytes are of another version */
function reviveValue(bytes, buffers, context) {
  return reviveGraph(bytes, buffers, { context, definition: null });
}
function definitionId(bytes, buffers) {
  const hash = (0, node_crypto_1.createHash)("sha256").update(bytes);
  for (const buffer of buffers) hash.update(buffer);
  return hash.digest("hex").slice(0, 32);
}
/** Graphs hold no forms of the hooks: those are nodes. */
const NO_FORMS = {
  revive: (kind) => {
    throw new errors_ts_1.SerializationError(`Cannot revive a value: unexpected form ${kind} in a captured graph`, { reason: "malformed" });
  },
};
async function reviveGraph(bytes, buffers, { context, definition }) {
  const graph = (0, decode_ts_1.decodeValue)(bytes, buffers, NO_FORMS);
  if (graph?.version !== graph_ts_1.GRAPH_VERSION) {
    throw new errors_ts_1.SerializationError(
      `Cannot revive a value: it was captured by another version of Shoal: received format ${String(graph?.version)}, expected ${graph_ts_1.GRAPH_VERSION}`,
      { reason: "version-mismatch", hint: "Run the same version of shoal everywhere." },
    );
  }
  const scopes = graph.sources.map((source) => new evaluate_text_ts_1.FileScope(source));
  const imported = await (0, revive_imports_ts_1.importValues)(graph, { scopes, definition: (id) => context.definition(id) });
  // Stack traces of revived code point into texts of ours; their source maps lead back to the user's lines.
  process.setSourceMapsEnabled(true);
  return new graph_reviver_ts_1.GraphReviver(graph, { scopes, imported, hooks: context.hooks, definition }).revive();
}
//# sourceMappingURL=revive.js.map
