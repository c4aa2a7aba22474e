/**
 * Tells whether two captures hold the same code, though different processes made them.
 *
 * Decides what is left out: the identities of classes, symbols and weak collections, which are random for each process, count by the order in which they stand there. Code that
 * goes by the name of its module is its file's, so the files are told as well; whoever compares reads them. Called by the core.
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import { encodeValue } from "../wire/value/encode.ts";
import type { Graph, Node } from "./graph.ts";
import { readGraph } from "./revive.ts";

/** A module that is imported by the name of its package, or by an alias of package.json (`#db`). */
interface NamedModule {
  readonly specifier: string;
  /** The file that imports it. */
  readonly from: string;
}

/** A capture without what tells its process. */
export interface ComparableCapture {
  /** Equal for equal code. */
  readonly parts: readonly Uint8Array[];
  /** The identities that were left out: captures that share one share a class. */
  readonly identities: ReadonlySet<string>;
  /** Paths of modules that are imported where the code runs, as their importers name them: endings may lack. */
  readonly files: readonly string[];
  /** Imports otherwise than by a path; modules of Node are among them. */
  readonly named: readonly NamedModule[];
}

/** @throws SerializationError when the bytes are of another version */
export function comparableOf(bytes: Uint8Array, buffers: readonly Uint8Array[]): ComparableCapture {
  const graph = readGraph(bytes, buffers);
  const numbers = new Map<string, string>();
  const files = new Set<string>();
  const named: NamedModule[] = [];
  const nodes = graph.nodes.map((node): Node => {
    const module = moduleOf(node, graph);
    if (typeof module === "string") files.add(module);
    else if (module !== undefined) named.push(module);
    if (!("identity" in node) || node.identity === undefined) return node;
    const number = numbers.get(node.identity) ?? `${numbers.size}`;
    numbers.set(node.identity, number);
    return { ...node, identity: number };
  });
  const encoded = encodeValue({ ...graph, nodes }, { reduce: () => undefined });
  const inBand = Uint8Array.prototype.slice.call(encoded.bytes, encoded.start, encoded.end);
  return { parts: [inBand, ...encoded.buffers], identities: new Set(numbers.keys()), files: [...files], named };
}

/** The module that a node names: its file, or its name. A file whose code imports while it runs counts as a whole. */
function moduleOf(node: Node, { sources }: Graph): string | NamedModule | undefined {
  switch (node.kind) {
    case "module":
    case "commonJs":
      return node.file;
    case "dynamicImport":
    case "requireFunction":
      return sources[node.source]?.file ?? undefined;
    case "import":
    case "require": {
      const from = sources[node.source]?.file;
      if (typeof from !== "string") return undefined;
      if (!/^(?:\.{0,2}\/|file:)/.test(node.specifier)) return { specifier: node.specifier, from };
      return fileURLToPath(new URL(node.specifier, pathToFileURL(from)));
    }
    default:
      return undefined;
  }
}
