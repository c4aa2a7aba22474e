/**
 * The orderly end of an actor: after `exitActor()`, `terminate`, or the loss of its last holder.
 *
 * Before the process ends, the instance's own dispose method runs in the actor's context, with a time limit. `exitActor()` unwinds the method by throwing here. A
 * method that catches the error is never answered either, and the actor ends.
 */
import type { ActorLeavingHeader } from "../../wire/messages.ts";
import { EXIT_WITHIN_MS } from "../limits.ts";
import { type CallPlace, TaskContext, taskContext } from "../tasks/task-context.ts";

/** In the error of every call that the actor leaves behind. */
export const EXITED: ActorLeavingHeader = { ending: "exited", reason: "it called exitActor()" };

/** Unwinds the method that called `exitActor()`. */
export class ActorExit extends Error {
  override readonly name = "ActorExit";
}

type Dispose = (this: object) => unknown;

/** Runs `Symbol.asyncDispose` or `Symbol.dispose` of the instance, if it has one; resolves when it has ended or its time is over. */
export async function disposeInstance(instance: object | undefined, className: string, place: CallPlace): Promise<void> {
  if (instance === undefined) return;
  let dispose: Dispose | undefined;
  try {
    const members = instance as { [Symbol.asyncDispose]?: Dispose; [Symbol.dispose]?: Dispose };
    dispose = members[Symbol.asyncDispose] ?? members[Symbol.dispose];
  } catch {
    // An instance that cannot be read is not disposed of.
  }
  if (typeof dispose !== "function") return;
  const name = `${className}.dispose`;
  const context = new TaskContext({ name, taskIdPrefix: "", callId: 0, place });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      console.error(`${name} had not ended after ${EXIT_WITHIN_MS} ms: the actor ends without it.`);
      resolve();
    }, EXIT_WITHIN_MS);
  });
  const work = taskContext.run(context, async () => {
    try {
      await dispose.call(instance);
    } catch (error) {
      reportFailure(name, error);
    }
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

function reportFailure(name: string, error: unknown): void {
  try {
    if (!(error instanceof ActorExit)) console.error(`${name} failed:`, error);
  } catch {
    // A proxy is asked by `instanceof` already, and may throw.
    console.error(`${name} failed: what it threw cannot be read`);
  }
}
