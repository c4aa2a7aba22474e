/**
 * Picks a node for each value: by name, by reference, by hook, as data, or piece by piece.
 *
 * The order is fixed. The language's own values go by path, and plain data goes as it is. Runtime exports and values that the caller's
 * hooks know (references, handles, registered serializers) go by id. Functions, objects and symbols follow, each in its own file. Called by
 * `GraphBuilder.refer` for every value that has no node yet.
 */
import { types } from "node:util";
import { captureFunction } from "./capture-function.ts";
import { captureObject } from "./capture-object.ts";
import { isByValueFile } from "../modules/by-value-files.ts";
import type { GraphBuilder, Step } from "./graph-builder.ts";
import type { Ref } from "../graph.ts";
import { identityOf } from "../values/identity.ts";
import { internalsOf, liveValue } from "../scripts/hidden-parts.ts";
import { builtinPathOf, commonJsFileOf, globalPathOf } from "../values/known-values.ts";
import { isPlainData } from "../values/plain-data.ts";

export function captureValueNode(graph: GraphBuilder, value: object | symbol, step: Step): Ref {
  if (typeof value === "symbol") return captureSymbol(graph, value);
  const path = globalPathOf(value);
  if (path !== undefined) return graph.add(value, { kind: "global", path });
  if (typeof value !== "function" && isPlainData(value)) return graph.add(value, { kind: "data", value });
  const byId = graph.referById(value, step);
  if (byId !== undefined) return byId;
  if (types.isProxy(value)) return captureProxy(graph, value, step);
  if (typeof value === "function") return captureFunction(graph, value, step);
  if (types.isModuleNamespaceObject(value)) return captureNamespace(graph, value, step);
  const builtin = builtinPathOf(value);
  if (builtin) return graph.add(value, { kind: "builtin", path: builtin, isNamespace: false });
  const file = commonJsFileOf(value);
  if (file !== undefined && !isByValueFile(file)) return graph.add(value, { kind: "commonJs", file, name: null });
  return captureObject(graph, value, step);
}

function captureSymbol(graph: GraphBuilder, symbol: symbol): Ref {
  const key = Symbol.keyFor(symbol);
  if (key !== undefined) return graph.add(symbol, { kind: "registeredSymbol", key });
  const description = symbol.description ?? null;
  const name = description?.startsWith("Symbol.") ? description.slice("Symbol.".length) : "";
  if (name && (Symbol as unknown as Record<string, unknown>)[name] === symbol) {
    return graph.add(symbol, { kind: "wellKnownSymbol", name });
  }
  return graph.add(symbol, { kind: "uniqueSymbol", identity: identityOf(symbol), description });
}

function captureProxy(graph: GraphBuilder, proxy: object, step: Step): Ref {
  const node = { kind: "proxy" as const, target: -1, handler: -1 };
  graph.later(() => {
    const { internal } = internalsOf(proxy);
    node.target = graph.refer(liveValue(internal.get("[[Target]]")), { parent: step, label: "proxy target" });
    node.handler = graph.refer(liveValue(internal.get("[[Handler]]")), { parent: step, label: "proxy handler" });
  });
  return graph.add(proxy, node);
}

function captureNamespace(graph: GraphBuilder, namespace: object, step: Step): Ref {
  const node = graph.namespaces.get(namespace);
  if (node) return graph.add(namespace, node);
  const whole = (namespace as { default?: unknown }).default;
  const builtin = typeof whole === "object" || typeof whole === "function" ? builtinPathOf(whole as object) : undefined;
  if (builtin?.length === 1) return graph.add(namespace, { kind: "builtin", path: builtin, isNamespace: true });
  return graph.fail(step, {
    what: "is a module namespace reached through a value",
    hint: "Import it by name in the file of the function.",
  });
}
