"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.GraphBuilder = void 0;
exports.trailOf = trailOf;
const errors_ts_1 = require("../base/errors.js");
const graph_ts_1 = require("./graph.js");
const heap_view_ts_1 = require("./heap-view.js");
const well_known_ts_1 = require("./well-known.js");
class GraphBuilder {
  mode;
  hooks;
  defineClass;
  nodes = [];
  contexts = [];
  notes = new Set();
  definitions = new Set();
  closures = [];
  /** Module namespaces that an import of some captured file names. */
  namespaces = new Map();
  weakCollections = [];
  /** Captured variables that hold objects, to name the largest one in a warning. */
  variables = [];
  #capture;
  #refByValue = new Map();
  #sources = new Map();
  #pending = [];
  #heap;
  constructor(options) {
    this.mode = options.mode;
    this.hooks = options.hooks;
    this.defineClass = options.defineClass;
    this.#capture = options.capture;
  }
  /** The node of a value, made now if it is new; what is inside it is visited later. */
  refer(value, step) {
    if (Object.is(value, -0)) return this.nodes.push({ kind: "data", value }) - 1; // a Map takes -0 for 0
    const known = this.#refByValue.get(value);
    if (known !== undefined) return known;
    if ((typeof value === "object" && value !== null) || typeof value === "function" || typeof value === "symbol") {
      return this.#capture(this, value, step);
    }
    return this.add(value, { kind: "data", value });
  }
  /** The node of a value that goes by an id: a runtime export, or what the hooks know. `undefined` when it is neither. */
  referById(value, step) {
    const known = this.#refByValue.get(value);
    const kind = known === undefined ? undefined : this.nodes[known]?.kind;
    if (known !== undefined) return kind === "wellKnown" || kind === "reduced" ? known : undefined;
    const id = (0, well_known_ts_1.wellKnownId)(value);
    if (id !== undefined) return this.add(value, { kind: "wellKnown", id });
    const reduced = this.hooks.reduce(value);
    if (!reduced) return undefined;
    const node = { kind: "reduced", reducer: reduced.kind, payload: -1 };
    this.later(() => {
      node.payload = this.refer(reduced.payload, { parent: step, label: "serialized form" });
    });
    return this.add(value, node);
  }
  add(value, node) {
    const ref = this.nodes.push(node) - 1;
    this.#refByValue.set(value, ref);
    return ref;
  }
  /** A node for something that is no value of its own, such as an import binding. */
  addAnonymous(node) {
    return this.nodes.push(node) - 1;
  }
  knownRef(value) {
    return this.#refByValue.get(value);
  }
  capturedValues() {
    return this.#refByValue.keys();
  }
  /** Does `visit` after everything that was asked for before. */
  later(visit) {
    this.#pending.push(visit);
  }
  visitPending() {
    for (let index = 0; index < this.#pending.length; index++) {
      this.#pending[index]();
      // Done entries are dropped in large steps: a shift for each would move the whole queue every time.
      if (index === 10_000) {
        this.#pending.splice(0, index + 1);
        index = -1;
      }
    }
    this.#pending.length = 0;
  }
  sourceOf(place) {
    let source = this.#sources.get(place.identity);
    if (!source) {
      source = { index: this.#sources.size, place, variables: new Map() };
      this.#sources.set(place.identity, source);
    }
    return source;
  }
  /** The heap as a snapshot shows it, taken at most once for a capture; `null` where the heap is too large for one. */
  get heap() {
    if (this.#heap === undefined) this.#heap = heap_view_ts_1.HeapView.take();
    return this.#heap;
  }
  finish(root) {
    const sources = [...this.#sources.values()].map(({ place, variables }) => ({
      file: place.file,
      format: place.format,
      isStrict: place.isStrict,
      variables: [...variables].map(([name, { value, isWritten }]) => [name, value, isWritten]),
    }));
    return { version: graph_ts_1.GRAPH_VERSION, base: process.cwd(), root, nodes: this.nodes, sources, contexts: this.contexts };
  }
  fail(step, { what, hint }) {
    const trail = trailOf(step);
    const path = trail.join(" → ");
    const lines = [`${trail[0]} cannot be sent to a worker:`, `    ${path} ${what}`];
    if (hint) lines.push(`    ${hint}`);
    throw new errors_ts_1.SerializationError(lines.join("\n"), { reason: "not-serializable", hint, path: `${path} ${what}` });
  }
}
exports.GraphBuilder = GraphBuilder;
/** The labels from the root to a step. */
function trailOf(step) {
  const labels = [];
  for (let at = step; at; at = at.parent) labels.push(typeof at.label === "string" ? at.label : at.label());
  return labels.reverse();
}
//# sourceMappingURL=graph-builder.js.map
