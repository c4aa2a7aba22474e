"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.captureValueNode = captureValueNode;
/**
 * Which node a value becomes: the policy of what travels by name, by reference, by hook, as data, or piece by piece.
 *
 * Decides in this order: the language's own values go by path; plain data goes as it is; runtime exports and whatever the caller's hooks
 * know (references, handles, registered serializers) go by id; then functions, objects and symbols each
 * by their own file. Called by `GraphBuilder.refer` for every value that has no node yet.
 */
const node_util_1 = require("node:util");
const capture_function_ts_1 = require("./capture-function.js");
const capture_object_ts_1 = require("./capture-object.js");
const by_value_files_ts_1 = require("./by-value-files.js");
const identity_ts_1 = require("./identity.js");
const inspector_session_ts_1 = require("./inspector-session.js");
const known_values_ts_1 = require("./known-values.js");
const plain_data_ts_1 = require("./plain-data.js");
function captureValueNode(graph, value, step) {
  if (typeof value === "symbol") return captureSymbol(graph, value);
  const path = (0, known_values_ts_1.globalPathOf)(value);
  if (path !== undefined) return graph.add(value, { kind: "global", path });
  if (typeof value !== "function" && (0, plain_data_ts_1.isPlainData)(value)) return graph.add(value, { kind: "data", value });
  const byId = graph.referById(value, step);
  if (byId !== undefined) return byId;
  if (typeof value === "function") return (0, capture_function_ts_1.captureFunction)(graph, value, step);
  if (node_util_1.types.isProxy(value)) return captureProxy(graph, value, step);
  if (node_util_1.types.isModuleNamespaceObject(value)) return captureNamespace(graph, value, step);
  const builtin = (0, known_values_ts_1.builtinPathOf)(value);
  if (builtin) return graph.add(value, { kind: "builtin", path: builtin, isNamespace: false });
  const file = (0, known_values_ts_1.commonJsFileOf)(value);
  if (file !== undefined && !(0, by_value_files_ts_1.isByValueFile)(file)) return graph.add(value, { kind: "commonJs", file, name: null });
  return (0, capture_object_ts_1.captureObject)(graph, value, step);
}
function captureSymbol(graph, symbol) {
  const key = Symbol.keyFor(symbol);
  if (key !== undefined) return graph.add(symbol, { kind: "registeredSymbol", key });
  const description = symbol.description ?? null;
  const name = description?.startsWith("Symbol.") ? description.slice("Symbol.".length) : "";
  if (name && Symbol[name] === symbol) {
    return graph.add(symbol, { kind: "wellKnownSymbol", name });
  }
  return graph.add(symbol, { kind: "uniqueSymbol", identity: (0, identity_ts_1.identityOf)(symbol), description });
}
function captureProxy(graph, proxy, step) {
  const node = { kind: "proxy", target: -1, handler: -1 };
  graph.later(() => {
    const { internal } = (0, inspector_session_ts_1.internalsOf)(proxy);
    node.target = graph.refer((0, inspector_session_ts_1.liveValue)(internal.get("[[Target]]")), { parent: step, label: "proxy target" });
    node.handler = graph.refer((0, inspector_session_ts_1.liveValue)(internal.get("[[Handler]]")), {
      parent: step,
      label: "proxy handler",
    });
  });
  return graph.add(proxy, node);
}
function captureNamespace(graph, namespace, step) {
  const node = graph.namespaces.get(namespace);
  if (node) return graph.add(namespace, node);
  const whole = namespace.default;
  const builtin = typeof whole === "object" || typeof whole === "function" ? (0, known_values_ts_1.builtinPathOf)(whole) : undefined;
  if (builtin?.length === 1) return graph.add(namespace, { kind: "builtin", path: builtin, isNamespace: true });
  return graph.fail(step, {
    what: "is a module namespace reached through a value",
    hint: "Import it by name in the file of the function.",
  });
}
//# sourceMappingURL=capture-value.js.map
