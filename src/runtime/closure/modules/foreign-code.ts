/**
 * Translates paths between the driver's machine and the folder where a node unpacked the driver's files.
 *
 * Captures, errors and stack traces name files by the driver's paths; this process alone knows the unpacked copies. So a definition has the
 * same bytes on every machine that captures it. A process sets its mapping once, before it runs code of the job. On the driver's own node
 * there is no mapping, and nothing here has an effect.
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Code, Graph, Node } from "../graph.ts";

/** A node in messages to people. */
export interface NamedNode {
  readonly node: string;
  readonly hostname: string;
}

export interface ForeignCode {
  /** The driver's folder that was sent, and its copy on this machine. */
  readonly there: string;
  readonly here: string;
  readonly driver: NamedNode;
  readonly self: NamedNode;
  /** Folders of this machine laid out as `there`, in which packages are looked for. */
  readonly packageRoots: readonly string[];
  /** Packages that the driver has: for which folder of `there` (empty for itself), name, version. */
  readonly packages: readonly (readonly [folder: string, name: string, version: string])[];
}

let current: ForeignCode | undefined;

export function foreignCode(): ForeignCode | undefined {
  return current;
}

/** Called once, by the process of a worker. */
export function setForeignCode(code: ForeignCode | undefined): void {
  current = code;
}

/** The path from which this process loads a file of the driver's. */
export function toLocalPath(path: string): string {
  return current === undefined ? path : moved(path, current.there, current.here);
}

/** The driver's path of a file of this process; other files keep their paths. */
export function toDriverPath(path: string): string {
  return current === undefined ? path : moved(path, current.here, current.there);
}

function moved(path: string, from: string, to: string): string {
  if (path.startsWith("file:")) {
    const { search, hash } = new URL(path);
    const file = fileURLToPath(path);
    const other = moved(file, from, to);
    return other === file ? path : pathToFileURL(other).href + search + hash;
  }
  if (path === from) return to;
  return path.startsWith(from.endsWith("/") ? from : `${from}/`)
    ? to + path.slice(from.endsWith("/") ? from.length - 1 : from.length)
    : path;
}

/** A text with the driver's paths in it, such as a stack trace. */
export function withPathsOfDriver(text: string): string {
  if (current === undefined) return text;
  const { here, there } = current;
  return text.replaceAll(pathToFileURL(here).href, pathToFileURL(there).href).replaceAll(here, there);
}

/** A received graph with the paths of this process. Positions stay as they are: they are for people. */
export function toLocalGraph(graph: Graph): Graph {
  return current === undefined ? graph : movedGraph(graph, toLocalPath);
}

/** A captured graph as it travels. */
export function toDriverGraph(graph: Graph): Graph {
  if (current === undefined) return graph;
  const { nodes, ...rest } = movedGraph(graph, toDriverPath);
  return {
    ...rest,
    base: toDriverPath(graph.base),
    nodes: nodes.map((node) => (node.kind === "function" || node.kind === "class" ? { ...node, code: positionedThere(node.code) } : node)),
  };
}

function movedGraph(graph: Graph, move: (path: string) => string): Graph {
  return {
    ...graph,
    nodes: graph.nodes.map((node) => movedNode(node, move)),
    sources: graph.sources.map((source) => (source.file === null ? source : { ...source, file: move(source.file) })),
  };
}

function movedNode(node: Node, move: (path: string) => string): Node {
  switch (node.kind) {
    case "module":
    case "commonJs":
      return { ...node, file: move(node.file) };
    case "import":
    case "require":
      return { ...node, specifier: move(node.specifier) };
    case "dynamicImport":
      return { ...node, root: move(node.root) };
    default:
      return node;
  }
}

function positionedThere(code: Code): Code {
  const { positions } = code;
  return positions === null ? code : { ...code, positions: { ...positions, sources: positions.sources.map(toDriverPath) } };
}
