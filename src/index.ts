/** The public programming model: what `import ... from "shoal"` gives. */
import * as core from "./core/index.ts";
import { registerExports } from "./core/internal.ts";
import { MultiOutputNode } from "./dag/bind.ts";
import { GraphCapacityExceededError, GraphClosedError } from "./dag/graph-errors.ts";
import { InputNode } from "./dag/input-node.ts";

registerExports("shoal", { ...core, GraphCapacityExceededError, GraphClosedError, InputNode, MultiOutputNode });

export * from "./core/index.ts";
export { GraphCapacityExceededError, GraphClosedError, InputNode, MultiOutputNode };
export type { InputAttributeNode } from "./dag/input-node.ts";
export { type Python, python, type PythonTaskOptions } from "./python/python.ts";
