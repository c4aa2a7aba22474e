"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.registerWellKnown = exports.markByValueFile = void 0;
exports.captureDefinition = captureDefinition;
exports.captureValue = captureValue;
exports.definitionOf = definitionOf;
exports.prepareCapture = prepareCapture;
/**
 * Captures functions, classes and values with everything they refer to as bytes that another process can revive.
 *
 * The entry of this folder's capturing half, called by the core. Decides what a definition is (a function or class with its captures,
 * named by the hash of its bytes) and what a value is (it refers to the definitions of the classes in it), the limits on size, and owns the
 * definitions of classes that values brought up.
 */
const node_crypto_1 = require("node:crypto");
const errors_ts_1 = require("../base/errors.js");
const encode_ts_1 = require("../wire/value/encode.js");
const by_value_files_ts_1 = require("./by-value-files.js");
const capture_object_ts_1 = require("./capture-object.js");
const capture_value_ts_1 = require("./capture-value.js");
const capture_variables_ts_1 = require("./capture-variables.js");
const graph_builder_ts_1 = require("./graph-builder.js");
const inspector_session_ts_1 = require("./inspector-session.js");
const script_table_ts_1 = require("./script-table.js");
const shared_contexts_ts_1 = require("./shared-contexts.js");
const size_estimate_ts_1 = require("./size-estimate.js");
var by_value_files_ts_2 = require("./by-value-files.js");
Object.defineProperty(exports, "markByValueFile", {
  enumerable: true,
  get: function () {
    return by_value_files_ts_2.markByValueFile;
  },
});
var well_known_ts_1 = require("./well-known.js");
Object.defineProperty(exports, "registerWellKnown", {
  enumerable: true,
  get: function () {
    return well_known_ts_1.registerWellKnown;
  },
});
/** A captured megabyte is copied to every worker: most often an accident. */
const WARNING_BYTES = 1_000_000;
/** What a definition table could not hold many of; Ray's limit as well. */
const SIZE_BYTES_MAX = 100_000_000;
/**
 * Captures a function or class as it is now: later changes of its variables are not seen.
 *
 * @throws SerializationError naming the path to what cannot be sent
 */
function captureDefinition(target, hooks) {
  if (typeof target !== "function")
    throw new TypeError(`Cannot capture a definition: it must be a function or class: received ${typeof target}`);
  const { encoded, graph } = captureGraph(target, {
    mode: "definition",
    hooks,
    label: () => (0, capture_variables_ts_1.describeFunction)(target),
  });
  const { bytes } = encoded;
  // A definition is the state of now: its buffers must not follow the user's later writes.
  const buffers = encoded.buffers.map((buffer) => Uint8Array.prototype.slice.call(buffer));
  const hash = (0, node_crypto_1.createHash)("sha256").update(bytes);
  for (const buffer of buffers) hash.update(buffer);
  return {
    id: hash.digest("hex").slice(0, 32),
    name: typeof target.name === "string" ? target.name : "",
    bytes,
    buffers,
    dependencies: [...graph.definitions],
    notes: [...graph.notes],
    sizeBytes: encoded.sizeBytes,
  };
}
/**
 * Captures any value. Classes in it are referred to by definitions of their own, so that their text is sent once.
 *
 * @param label - what errors call the value, such as "argument 1 of train"
 * @throws SerializationError naming the path to what cannot be sent
 */
function captureValue(value, hooks, label = "value") {
  const { encoded, graph } = captureGraph(value, { mode: "value", hooks, label });
  const { bytes, buffers } = encoded;
  return { bytes, buffers, definitions: [...graph.definitions], notes: [...graph.notes] };
}
/** Kept for as long as the process lives: a value in flight may need its class at any time, and a class is some kilobytes. */
const classDefinitions = new Map();
const definitionByClass = new WeakMap();
/** A definition that `captureValue` made for a class here; `undefined` for those that came from elsewhere. */
function definitionOf(id) {
  return classDefinitions.get(id);
}
/** Opens the inspector and reads the program's scripts while nobody waits: the first capture would take 40-80 ms more. */
function prepareCapture() {
  (0, script_table_ts_1.readScriptsAhead)((0, by_value_files_ts_1.mainFile)());
}
let nesting = 0;
function captureGraph(value, { mode, hooks, label }) {
  const graph = new graph_builder_ts_1.GraphBuilder({
    mode,
    hooks,
    capture: capture_value_ts_1.captureValueNode,
    defineClass: (target, step) => defineClass(target, hooks, step),
  });
  nesting += 1;
  try {
    const root = graph.refer(value, { parent: null, label });
    do graph.visitPending();
    while ((0, capture_object_ts_1.captureWeakEntries)(graph, graph.capturedValues()));
    (0, shared_contexts_ts_1.shareContexts)(graph);
    const encoded = encodeGraph(graph.finish(root), { parent: null, label });
    checkSize(graph, encoded.sizeBytes, { parent: null, label });
    return { encoded, graph };
  } finally {
    nesting -= 1;
    // A capture inside another shares the inspector's objects with it.
    if (nesting === 0) (0, inspector_session_ts_1.releaseObjects)();
  }
}
function defineClass(target, hooks, step) {
  let definition = definitionByClass.get(target);
  if (!definition) {
    try {
      definition = captureDefinition(target, hooks);
    } catch (error) {
      if (!(error instanceof errors_ts_1.SerializationError)) throw error;
      const path = `${(0, graph_builder_ts_1.trailOf)(step).join(" → ")} → ${error.path ?? error.message}`;
      throw new errors_ts_1.SerializationError(error.message, { reason: error.reason, hint: error.hint, path, cause: error });
    }
    definitionByClass.set(target, definition);
    classDefinitions.set(definition.id, definition);
  }
  return definition.id;
}
const NO_HOOKS = { reduce: () => undefined };
function encodeGraph(graph, step) {
  try {
    const { bytes, start, end, buffers, buffersSizeBytes } = (0, encode_ts_1.encodeValue)(graph, NO_HOOKS);
    return { bytes: Uint8Array.prototype.slice.call(bytes, start, end), buffers: [...buffers], sizeBytes: end - start + buffersSizeBytes };
  } catch (error) {
    if (!(error instanceof encode_ts_1.UnsupportedValueError)) throw error;
    throw new errors_ts_1.SerializationError(`${((0, graph_builder_ts_1.trailOf))(step)[0]} cannot be sent to a worker: ${error.message}`, {
      reason: "not-serializable",
      cause: error,
    });
  }
}
function checkSize(graph, sizeBytes, step) {
  if (sizeBytes <= WARNING_BYTES) return;
  const advice = "put() large data once and pass the reference";
  const largest = graph.variables
    .map((variable) => ({ ...variable, sizeBytes: (0, size_estimate_ts_1.estimateSizeBytes)(variable.value) }))
    .sort((left, right) => right.sizeBytes - left.sizeBytes)[0];
  const most = largest
    ? `, most of it ${(0, graph_builder_ts_1.trailOf)(largest.step).join(" → ")} (${megabytes(largest.sizeBytes)} MB)`
    : "";
  const label = (0, graph_builder_ts_1.trailOf)(step)[0];
  if (sizeBytes > SIZE_BYTES_MAX) {
    throw new errors_ts_1.SerializationError(
      `${label} cannot be sent to a worker: it is ${megabytes(sizeBytes)} MB with what it captures${most}; the limit is ${megabytes(SIZE_BYTES_MAX)} MB; ${advice}`,
      { reason: "too-large", hint: advice, details: { sizeBytes } },
    );
  }
  graph.notes.add(`${label} is ${megabytes(sizeBytes)} MB with what it captures${most}; ${advice}`);
}
function megabytes(sizeBytes) {
  return (sizeBytes / 1e6).toFixed(1);
}
//# sourceMappingURL=capture.js.map
