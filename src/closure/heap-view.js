"use strict";
var __importDefault =
  (this && this.__importDefault) ||
  function (mod) {
    return mod && mod.__esModule ? mod : { default: mod };
  };
Object.defineProperty(exports, "__esModule", { value: true });
exports.HeapView = void 0;
/**
 * What only a heap snapshot tells: which closures share a scope, and the `this` of an arrow function.
 *
 * Decides whether a snapshot is affordable (0.3 s at 35 MB of heap, 2-17 s at 80-250 MB, so below 50 MB only) and reads the three kinds
 * of edges that matter from it. Called through `GraphBuilder.heap`, at most once for a capture, in the rare cases that need it.
 */
const node_fs_1 = __importDefault(require("node:fs"));
const node_os_1 = __importDefault(require("node:os"));
const node_path_1 = __importDefault(require("node:path"));
const node_v8_1 = __importDefault(require("node:v8"));
const inspector_session_ts_1 = require("./inspector-session.js");
/** Above this a snapshot stalls the program for seconds; the error that replaces it says how to do without. */
const HEAP_BYTES_MAX = 150_000_000;
let snapshotsTaken = 0;
class HeapView {
  #file;
  #nodeSize;
  #edgeSize;
  #idField;
  #edgeCountField;
  #internalEdge;
  #contextEdge;
  #firstEdge;
  #nodeById = new Map();
  static take() {
    if (process.memoryUsage().heapUsed > HEAP_BYTES_MAX) return null;
    snapshotsTaken += 1;
    const file = node_path_1.default.join(node_os_1.default.tmpdir(), `shoal-${process.pid}-${snapshotsTaken}.heapsnapshot`);
    try {
      node_v8_1.default.writeHeapSnapshot(file);
      return new HeapView(JSON.parse(node_fs_1.default.readFileSync(file, "utf8")));
    } finally {
      node_fs_1.default.rmSync(file, { force: true });
    }
  }
  constructor(file) {
    const { node_fields, edge_fields, edge_types } = file.snapshot.meta;
    this.#file = file;
    this.#nodeSize = node_fields.length;
    this.#edgeSize = edge_fields.length;
    this.#idField = node_fields.indexOf("id");
    this.#edgeCountField = node_fields.indexOf("edge_count");
    this.#internalEdge = edge_types[0].indexOf("internal");
    this.#contextEdge = edge_types[0].indexOf("context");
    this.#firstEdge = new Uint32Array(file.nodes.length / this.#nodeSize);
    let edge = 0;
    for (let node = 0; node < this.#firstEdge.length; node++) {
      this.#firstEdge[node] = edge;
      edge += this.#field(node, this.#edgeCountField) * this.#edgeSize;
      this.#nodeById.set(this.#field(node, this.#idField), node);
    }
  }
  /** The ids of the contexts that a closure sees, innermost first; they match its `[[Scopes]]` one to one. */
  contextsOf(closure) {
    return [...this.#contextNodes(closure)].map((node) => this.#field(node, this.#idField));
  }
  /** The `this` that an arrow function closes over, if some context holds it. */
  thisOf(closure) {
    for (const node of this.#contextNodes(closure)) {
      const held = this.#follow(node, this.#contextEdge, "this");
      if (held !== undefined) return { value: (0, inspector_session_ts_1.objectByHeapId)(this.#field(held, this.#idField)) };
    }
    return null;
  }
  *#contextNodes(closure) {
    const start = this.#nodeById.get((0, inspector_session_ts_1.heapObjectId)(closure));
    let context = start === undefined ? undefined : this.#follow(start, this.#internalEdge, "context");
    while (context !== undefined) {
      yield context;
      context = this.#follow(context, this.#internalEdge, "previous");
    }
  }
  #field(node, field) {
    return this.#file.nodes[node * this.#nodeSize + field];
  }
  /** The node at the end of the edge with this type and name. */
  #follow(node, type, name) {
    const { edges, strings } = this.#file;
    let at = this.#firstEdge[node];
    for (let left = this.#field(node, this.#edgeCountField); left > 0; left--) {
      if (edges[at] === type && strings[edges[at + 1]] === name) return edges[at + 2] / this.#nodeSize;
      at += this.#edgeSize;
    }
    return undefined;
  }
}
exports.HeapView = HeapView;
//# sourceMappingURL=heap-view.js.map
