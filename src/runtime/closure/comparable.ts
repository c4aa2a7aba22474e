/**
 * Tells whether two captures hold the same code, though different processes made them.
 *
 * Identities of classes, symbols and weak collections are random for each process, so they are replaced by their order of appearance. Code
 * that goes by its module's name depends on the module's file, so the files are listed, and the caller compares their contents. Called by
 * the core.
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import { encodeValue } from "../wire/value/encode.ts";
import type { Graph, Node } from "./graph.ts";
import { readGraph } from "./revive.ts";

/** A module imported by a package name, or by an alias of package.json (`#db`). */
interface NamedModule {
  readonly specifier: string;
  /** The file that imports it. */
  readonly from: string;
}

/** A capture without the parts that depend on its process. */
export interface ComparableCapture {
  /** Equal for equal code. */
  readonly parts: readonly Uint8Array[];
  /** Identities that were left out. Captures with a common identity share a class. */
  readonly identities: ReadonlySet<string>;
  /** Paths of modules that the code imports when it runs, as their importers name them. Extensions may be missing. */
  readonly files: readonly string[];
  /** Imports other than by path, including Node's modules. */
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
