/** Sessions, graphs and utilities: programs of the driver as a whole. */
import type { Scenario } from "../system.ts";

const SESSION = "1.1 Start, connect, stop";
const CALLS = "1.2 Tasks";
const FAULTS = "1.8 Fault tolerance";
const GRAPHS = "1.10 DAG and compiled graphs";
const UTILITIES = "1.11 Utilities";

/** Section, the claim, and the program. */
const PROGRAMS: readonly (readonly [string, string, string])[] = [
  [SESSION, "is initialized", "isInitialized"],
  [SESSION, "a second init is refused", "initAgain"],
  [SESSION, "a second init can be allowed", "initAgainIgnored"],
  [SESSION, "wait keeps the order of what is ready", "waitOrder"],
  [CALLS, "tasks and methods begin while their caller computes", "beginsWhileDriverComputes"],
  [CALLS, "objects are read while their owner computes", "readsWhileOwnerComputes"],
  [FAULTS, "of 2,000 quick tasks the one that ends its worker fails alone", "taskAmongQuickOnesEnds"],
  [FAULTS, "of 1,000 calls of an actor those before its end have their answers", "actorEndsInBulk"],
  [GRAPHS, "a chain, executed twice", "graphChain"],
  [GRAPHS, "a shared node runs once an execution", "graphShared"],
  [GRAPHS, "several outputs", "graphOutputs"],
  [GRAPHS, "parts of the input", "graphAttributes"],
  [GRAPHS, "a compiled chain of actors", "graphCompiled"],
  [UTILITIES, "ActorPool.map keeps the order", "actorPoolMap"],
  [UTILITIES, "ActorPool.mapUnordered gives all", "actorPoolUnordered"],
  [UTILITIES, "ActorPool.submit and getNext", "actorPoolSubmit"],
  [UTILITIES, "a queue is first in, first out", "queueOrder"],
  [UTILITIES, "a full queue", "queueFull"],
  [UTILITIES, "an empty queue", "queueEmpty"],
  [UTILITIES, "Pool.map", "poolMap"],
  [UTILITIES, "Pool.starmap", "poolStarmap"],
  [UTILITIES, "Pool.imap", "poolImap"],
  [UTILITIES, "Pool.apply", "poolApply"],
];

export const scenarios: readonly Scenario[] = PROGRAMS.map(([section, name, program]) => ({
  section,
  name,
  run: async (system) => await system.program(program),
}));
