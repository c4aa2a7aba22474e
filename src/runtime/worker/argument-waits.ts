/**
 * How a call of this worker waits for arguments whose bytes are lost.
 *
 * The call has not begun. A task goes back to its caller, with the lease under which it came: whoever makes the arguments again may need exactly what the task would hold
 * meanwhile, a GPU or a license, and a task that has not begun has nothing that is worth keeping. Its caller sends it again once the arguments have values. A call of an actor keeps its place
 * among the others, as their order matters, and lets calls run meanwhile that make lost objects again.
 */
import { ArgumentsLost } from "../objects/lost-object.ts";
import type { ArgumentWait } from "../objects/value-codec.ts";
import type { ActorHost } from "./actor-host.ts";
import type { ReceivedCall } from "./received-calls.ts";
import { type TaskContext, taskContext } from "./task-context.ts";

/** `actors`: the host of the actor whose method is called, where it is one. */
export function argumentWait(context: TaskContext, call: ReceivedCall, actors: ActorHost): ArgumentWait {
  return (lost, recover) => {
    const inContext = (): Promise<void> => taskContext.run(context, recover);
    const group = call.method?.group;
    if (group !== undefined) return actors.awaitArguments(group, inContext);
    if (call.callee !== undefined) {
      const ids = new Set(call.deps.map(({ stored }) => stored?.id));
      const dependencies = lost.filter(({ entry }) => ids.has(entry.id));
      if (dependencies.length > 0) throw new ArgumentsLost(dependencies);
    }
    // Nobody makes again what came as a value: its owner says so at once.
    return inContext();
  };
}
