/**
 * What only a heap snapshot tells: which closures share a scope, and the `this` of an arrow function.
 *
 * Decides whether a snapshot is affordable (0.3 s at 35 MB of heap, 2-17 s at 80-250 MB, so below 150 MB of what lives) and reads the three kinds
 * of edges that matter from it. Called through `GraphBuilder.heap`, at most once for a capture, in the rare cases that need it.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { collectGarbage } from "../platform/garbage.ts";
import { heapObjectId, objectByHeapId } from "./inspector-session.ts";

/** Above this a snapshot stalls the program for seconds; the error that replaces it says how to do without. */
const HEAP_BYTES_MAX = 150_000_000;

interface SnapshotFile {
  readonly snapshot: {
    readonly meta: { readonly node_fields: string[]; readonly edge_fields: string[]; readonly edge_types: [string[], ...unknown[]] };
  };
  readonly nodes: number[];
  readonly edges: number[];
  readonly strings: string[];
}

let snapshotsTaken = 0;

/** What counts is what lives: a collection tells that apart from garbage, of which an earlier snapshot alone leaves a hundred megabytes. */
function isHeapTooLarge(): boolean {
  if (process.memoryUsage().heapUsed <= HEAP_BYTES_MAX) return false;
  collectGarbage();
  return process.memoryUsage().heapUsed > HEAP_BYTES_MAX;
}

export class HeapView {
  readonly #file: SnapshotFile;
  readonly #nodeSize: number;
  readonly #edgeSize: number;
  readonly #idField: number;
  readonly #edgeCountField: number;
  readonly #internalEdge: number;
  readonly #contextEdge: number;
  readonly #firstEdge: Uint32Array;
  readonly #nodeById: Map<number, number> = new Map();

  static take(): HeapView | null {
    if (isHeapTooLarge()) return null;
    snapshotsTaken += 1;
    const file = path.join(os.tmpdir(), `shoal-${process.pid}-${snapshotsTaken}.heapsnapshot`);
    try {
      process.getBuiltinModule("node:v8").writeHeapSnapshot(file);
      return new HeapView(JSON.parse(fs.readFileSync(file, "utf8")) as SnapshotFile);
    } finally {
      fs.rmSync(file, { force: true });
    }
  }

  constructor(file: SnapshotFile) {
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
  contextsOf(closure: object): number[] {
    return [...this.#contextNodes(closure)].map((node) => this.#field(node, this.#idField));
  }

  /** The `this` that an arrow function closes over, if some context holds it. */
  thisOf(closure: object): { readonly value: unknown } | null {
    for (const node of this.#contextNodes(closure)) {
      const held = this.#follow(node, this.#contextEdge, "this");
      if (held !== undefined) return { value: objectByHeapId(this.#field(held, this.#idField)) };
    }
    return null;
  }

  *#contextNodes(closure: object): Generator<number> {
    const start = this.#nodeById.get(heapObjectId(closure));
    let context = start === undefined ? undefined : this.#follow(start, this.#internalEdge, "context");
    while (context !== undefined) {
      yield context;
      context = this.#follow(context, this.#internalEdge, "previous");
    }
  }

  #field(node: number, field: number): number {
    return this.#file.nodes[node * this.#nodeSize + field] as number;
  }

  /** The node at the end of the edge with this type and name. */
  #follow(node: number, type: number, name: string): number | undefined {
    const { edges, strings } = this.#file;
    let at = this.#firstEdge[node] as number;
    for (let left = this.#field(node, this.#edgeCountField); left > 0; left--) {
      if (edges[at] === type && strings[edges[at + 1] as number] === name) return (edges[at + 2] as number) / this.#nodeSize;
      at += this.#edgeSize;
    }
    return undefined;
  }
}
