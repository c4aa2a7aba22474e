/**
 * Flags with which a worker loads modules as this program does: the program's command line, and the flags of a loader that registered
 * itself.
 *
 * Decides nothing where no loader can be told: tsx and most others stand on the command line already, ts-node is known by the mark that it leaves on
 * the process. Called where a driver starts its daemon or joins a cluster.
 */
import { workerExecArgv } from "../../runtime/os/machine/machine.ts";
import { resolveModule } from "../../runtime/os/files/paths.ts";

const TS_NODE_MARK = Symbol.for("ts-node.register.instance");

export function programExecArgv(): string[] {
  const flags = workerExecArgv(process.execArgv);
  // The `ts-node` command adds its own script to `process.execArgv`, and no worker can have that: only the flags that are kept count.
  if (!(TS_NODE_MARK in process) || flags.some((flag) => flag.includes("ts-node"))) return flags;
  // The driver has checked the types.
  const register = resolveModule("ts-node/register/transpile-only");
  return register === undefined ? flags : [...flags, "--require", register];
}
