/**
 * Who may import whom under `src`: the layer table of ARCHITECTURE.md in the form that `layers.test.ts` reads.
 *
 * A new folder gets a row here and there. A row that has to grow to make a change possible is a sign that the change is in the wrong
 * folder; say in the commit why it is not.
 */
export interface LayerRow {
  layer: number;
  /** Folders that files of this folder may import, besides the folder itself. */
  mayImport: readonly string[];
  /** The only files that other folders import, where there are such: its doors. */
  doors?: readonly string[];
  /** Folders with doors of which it imports any file all the same. */
  mayEnter?: readonly string[];
}

/** Stands for the files directly in `src`, which are in no folder. */
export const PUBLIC = "the public files";

const LAYER_0 = ["base"];
const LAYERS_TO_2 = [...LAYER_0, "platform", "wire", "scheduling", "rpc", "closure"];
const LAYERS_TO_3 = [...LAYERS_TO_2, "object", "extension", "telemetry"];
const LAYERS_TO_4 = [...LAYERS_TO_3, "control", "node", "worker", "environment"];

export const LAYER_TABLE: Readonly<Record<string, LayerRow>> = {
  base: { layer: 0, mayImport: [] },
  platform: { layer: 1, mayImport: LAYER_0 },
  scheduling: { layer: 1, mayImport: LAYER_0 },
  // Headers name leases by their canonical text.
  wire: { layer: 1, mayImport: [...LAYER_0, "scheduling"] },
  rpc: { layer: 2, mayImport: ["base", "platform", "wire"] },
  closure: { layer: 2, mayImport: ["base", "platform", "wire"] },
  object: { layer: 3, mayImport: LAYERS_TO_2 },
  // What libraries add to the head, to daemons and to workers; those load it and run it.
  extension: { layer: 3, mayImport: ["base", "wire", "rpc"] },
  // The head's part of it is an extension.
  telemetry: { layer: 4, mayImport: ["base", "wire", "extension"] },
  // The four of layer 4 run in different processes and meet only through messages of `wire`.
  control: { layer: 4, mayImport: LAYERS_TO_3 },
  node: { layer: 4, mayImport: LAYERS_TO_3 },
  worker: { layer: 4, mayImport: LAYERS_TO_3 },
  environment: { layer: 4, mayImport: LAYERS_TO_3 },
  // `index.ts` is what users have, `internal.ts` what our own libraries use besides.
  core: { layer: 5, mayImport: LAYERS_TO_4, doors: ["core/index.ts", "core/internal.ts"] },
  // Channels lie in shared memory, so they belong to `object`; the loop that an actor runs for a graph belongs to `worker`. What begins and
  // watches a compiled graph is here.
  dag: { layer: 6, mayImport: [...LAYER_0, "object", "worker", "core"] },
  // Names Python code; the workers that run it are started by the daemon and live in `python/`, beside `src`.
  python: { layer: 6, mayImport: ["core"] },
  collective: { layer: 6, mayImport: ["core"] },
  // Published as `shoal/util`, with the collectives.
  patterns: { layer: 6, mayImport: ["core", "collective"] },
  // The processes of a cluster, wherever they are started, and clusters for tests made of them. They name the entry points of what they start.
  providers: { layer: 7, mayImport: [...LAYERS_TO_4, "entry"] },
  testing: { layer: 7, mayImport: [...LAYER_0, "platform", "providers"] },
  // A process begins here: an entry point wires the parts of its process together, so it imports all of them, the inside of the core too, and
  // the public modules that user code in its process imports.
  entry: { layer: 6, mayImport: [...LAYERS_TO_4, "core", "providers", PUBLIC], mayEnter: ["core"] },
  // The program `shoal`. What it needs of Node (the terminal, the words of a command line) is in `platform`, so it imports no `node:*` itself.
  cli: { layer: 7, mayImport: [...LAYERS_TO_4, "providers", "entry"] },
};

/** Public files begin the public subpaths: `index.ts` is `shoal`. */
export const PUBLIC_FILES: LayerRow = { layer: 6, mayImport: ["core", "dag", "python"] };

/** Folders whose files may import `node:*`. `Buffer`, a global, is allowed everywhere. */
export const MAY_IMPORT_NODE: readonly string[] = ["platform", "closure", "entry"];

/** Packages of the registry, and the folders that may import them. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  acorn: ["closure"],
  ignore: ["platform"],
  "@nats-io/transport-node": ["control"],
  "@jridgewell/sourcemap-codec": ["closure"],
};
