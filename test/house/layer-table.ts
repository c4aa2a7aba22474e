/**
 * The allowed imports under `src`: the bands and layers of ARCHITECTURE.md in the form that `layers.test.ts` reads.
 *
 * Each folder of `runtime` and `ops` has a row, and each other folder of `src`. Every arrow goes down: a row imports rows of lower layers
 * alone. A row that has to grow to make a change possible is a sign that the change is in the wrong folder; say in the commit why it is
 * not.
 */
export interface LayerRow {
  layer: number;
  /** Rows that files of this folder may import, besides the folder itself. */
  mayImport: readonly string[];
  /** The only files that other folders import, where there are such: its doors. */
  doors?: readonly string[];
  /** Rows with doors of which it imports any file all the same. */
  mayEnter?: readonly string[];
}

/** Folders whose own folders are rows. */
export const BANDS_OF_ROWS: readonly string[] = ["runtime", "ops"];

/** Stands for the files directly in `src`, which are in no folder. */
export const PUBLIC = "the public files";

const VALUES = ["runtime/base", "runtime/os", "runtime/scheduling", "runtime/wire"];
const LINKS = [...VALUES, "runtime/rpc", "runtime/closure"];
const PARTS = [...LINKS, "runtime/objects", "runtime/extension", "runtime/events", "runtime/observe"];
const RUNTIME = [...PARTS, "runtime/nats", "runtime/head", "runtime/node", "runtime/worker", "runtime/environment"];

export const LAYER_TABLE: Readonly<Record<string, LayerRow>> = {
  "runtime/base": { layer: 0, mayImport: [] },
  "runtime/os": { layer: 1, mayImport: ["runtime/base"] },
  "runtime/scheduling": { layer: 1, mayImport: ["runtime/base"] },
  // The store and the bus of heads: the interfaces, and the kind in memory.
  "runtime/control-plane": { layer: 1, mayImport: ["runtime/base"] },
  // Headers name leases by their canonical text.
  "runtime/wire": { layer: 2, mayImport: ["runtime/base", "runtime/scheduling"] },
  "runtime/rpc": { layer: 3, mayImport: ["runtime/base", "runtime/os", "runtime/wire"] },
  "runtime/closure": { layer: 3, mayImport: ["runtime/base", "runtime/os", "runtime/wire"] },
  // The store and the bus in NATS, and the servers of NATS that Shoal runs.
  "runtime/nats": { layer: 3, mayImport: ["runtime/base", "runtime/os", "runtime/control-plane", "runtime/wire"] },
  "runtime/objects": { layer: 4, mayImport: LINKS },
  // Extensions by libraries for the head, for daemons and for workers, which load and run them.
  "runtime/extension": { layer: 4, mayImport: ["runtime/base", "runtime/wire", "runtime/rpc"] },
  // The head's part of events is an extension.
  "runtime/events": { layer: 5, mayImport: ["runtime/base", "runtime/wire", "runtime/extension"] },
  // Records of calls in shared memory, and how rows of state are filtered.
  "runtime/observe": { layer: 5, mayImport: VALUES },
  // The four of this layer run in different processes and meet only through messages of `wire`.
  "runtime/head": { layer: 6, mayImport: [...PARTS, "runtime/control-plane", "runtime/nats"] },
  "runtime/node": { layer: 6, mayImport: [...PARTS, "runtime/nats"] },
  "runtime/worker": { layer: 6, mayImport: PARTS },
  "runtime/environment": { layer: 6, mayImport: PARTS },
  // The programming model. `index.ts` is what users have, `internal.ts` what our own libraries use besides.
  core: { layer: 7, mayImport: RUNTIME, doors: ["core/index.ts", "core/internal.ts"] },
  // Channels lie in shared memory, so they belong to `objects`; the loop that an actor runs for a graph belongs to `worker`. This folder
  // begins and watches a compiled graph.
  dag: { layer: 8, mayImport: ["runtime/base", "runtime/objects", "runtime/worker", "core"] },
  // Names Python code; the workers that run it are started by the daemon and live in `python/`, beside `src`.
  python: { layer: 8, mayImport: ["core"] },
  // Published as `shoal/metrics`: counters, gauges and histograms of users' code and of libraries.
  metrics: { layer: 8, mayImport: ["core"] },
  // Published as `shoal/util`.
  util: { layer: 8, mayImport: ["core", "progress"] },
  // Published as `shoal/data`.
  data: { layer: 9, mayImport: ["core", "storage", "progress"] },
  // Paths, files and what is behind other schemes, for all libraries.
  storage: { layer: 8, mayImport: ["core"] },
  // Progress of the libraries' long work on terminals: one board a process.
  progress: { layer: 7, mayImport: [] },
  // Shared parts of Train, Tune and RL: run folders, checkpoints, results, tracking and progress.
  runs: { layer: 9, mayImport: ["core", "storage", "python", "progress"] },
  // Published as `shoal/serve`.
  serve: { layer: 9, mayImport: ["core", "metrics", "storage", "python"] },
  // Published as `shoal/train` and `shoal/tune`.
  train: { layer: 10, mayImport: ["core", "storage", "python", "util", "progress", "data", "runs"] },
  tune: { layer: 10, mayImport: ["core", "storage", "python", "progress", "runs"] },
  // Published as `shoal/rl` and `shoal/rl-client`. The client runs in browsers, so its parts take `describeValue` and errors from `runtime/base`:
  // the doors of the core load Node.
  rl: { layer: 11, mayImport: ["runtime/base", "core", "storage", "python", "util", "progress", "runs", "tensor", "data"] },
  // Processes begin here. An entry point wires the parts of a process together, so it imports all of them, and the inside of the core, too.
  // It also imports the public modules that user code in the process imports.
  entry: { layer: 10, mayImport: [...RUNTIME, "core", PUBLIC], mayEnter: ["core"] },
  // The processes of a cluster, wherever they are started. They name the entry points of these processes.
  "ops/providers": { layer: 11, mayImport: [...RUNTIME, "entry"] },
  // The process that keeps those of one machine running after `shoal start` has ended.
  "ops/supervisor": { layer: 14, mayImport: [...RUNTIME, "entry", "ops/providers", "ops/connection", "ops/http", "ops/autoscaler"] },
  // Submitted jobs: the parts of the head and of nodes, and the client. Published as `shoal/jobs`.
  "ops/jobs": { layer: 12, mayImport: [...RUNTIME, "ops/connection"] },
  // The autoscaler: the plan, instances, and providers of nodes. Published as `shoal/autoscaler`.
  "ops/autoscaler": { layer: 12, mayImport: [...RUNTIME, "ops/providers", "ops/connection"] },
  // A connection to a cluster as commands and the HTTP server have it, without the programming model.
  "ops/connection": { layer: 11, mayImport: RUNTIME },
  // The HTTP server of a cluster: REST and the page.
  "ops/http": { layer: 13, mayImport: [...RUNTIME, "ops/connection", "ops/jobs", "ops/state"] },
  // Lists and summaries of a cluster. Published as `shoal/state`.
  "ops/state": { layer: 8, mayImport: [...RUNTIME, "core"] },
  // The program `shoal`. Its uses of Node (the terminal, the words of a command line) are in `os`, so it imports no `node:*` itself.
  // Commands of libraries read files that those have left; they load the libraries by `import()`, so that no other command does.
  "ops/cli": {
    layer: 15,
    mayImport: [
      ...RUNTIME,
      "ops/autoscaler",
      "ops/connection",
      "ops/http",
      "ops/jobs",
      "ops/providers",
      "ops/state",
      "ops/supervisor",
      "runs",
      "tune",
    ],
  },
  // Published as `shoal/tensor`. It runs in browsers, too.
  tensor: { layer: 0, mayImport: [] },
  // Clusters for tests, on one machine. Published as `shoal/testing`.
  testing: { layer: 13, mayImport: ["runtime/base", "runtime/os", "ops/providers", "ops/autoscaler"] },
};

/** Public files begin the public subpaths: `index.ts` is `shoal`. */
export const PUBLIC_FILES: LayerRow = { layer: 9, mayImport: ["core", "dag", "python"] };

/** Rows whose files may import `node:*`. `Buffer`, a global, is allowed everywhere. */
export const MAY_IMPORT_NODE: readonly string[] = [
  "runtime/os",
  "runtime/closure",
  "runtime/nats",
  "storage",
  "serve",
  // Sockets of external environments, and the processes of Unity.
  "rl",
  "entry",
  "ops/http",
  "ops/supervisor",
];

/** Packages of the registry, and the rows that may import them. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  acorn: ["runtime/closure"],
  ignore: ["runtime/os"],
  "@nats-io/transport-node": ["runtime/nats"],
  "@jridgewell/sourcemap-codec": ["runtime/closure"],
  "@uwdata/flechette": ["data", "tune"],
  hyparquet: ["data"],
  "parquet-wasm": ["data"],
  aws4fetch: ["storage"],
  sharp: ["data"],
  "@opentelemetry/api": ["serve"],
  "@opentelemetry/sdk-trace-node": ["serve"],
  "@grpc/grpc-js": ["serve"],
  "@grpc/proto-loader": ["serve"],
  // The inspector of V8 speaks over a WebSocket.
  ws: ["runtime/os", "serve", "rl", "ops/http", "ops/jobs"],
  yaml: ["serve", "ops/autoscaler"],
  "@huggingface/transformers": ["serve"],
  "node-llama-cpp": ["serve"],
};
