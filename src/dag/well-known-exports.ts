/** The exports of graphs that functions refer to by name when they travel: a task or an actor may make, compile and run graphs, too. */
import { registerExports } from "../core/well-known-exports.ts";
import { MultiOutputNode } from "./bind.ts";
import { GraphCapacityExceededError, GraphClosedError } from "./graph-errors.ts";
import { InputNode } from "./input-node.ts";

registerExports("shoal", { GraphCapacityExceededError, GraphClosedError, InputNode, MultiOutputNode });
