/**
 * Waits for lost arguments of a call in this worker.
 *
 * The call has not begun. A task returns to its caller together with its lease: the makers of the arguments may need the very resources that the task would hold, such as
 * a GPU. The caller sends the task again once its arguments have values. An actor's call keeps its place, because order matters, and meanwhile lets calls run that make
 * lost objects again.
 */
import { ArgumentsLost } from "../../objects/lost-object.ts";
import type { ArgumentWait } from "../../objects/value-codec.ts";
import type { ActorHost } from "../actors/actor-host.ts";
import type { ReceivedCall } from "../calls/received-calls.ts";
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
    // A value that was sent is never made again: its owner answers so at once.
    return inContext();
  };
}
