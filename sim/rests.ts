/**
 * Answers that dead workers have left in their outboxes, as the simulation itself reads them, and the calls that they belong to.
 *
 * Each call tells its key when its code begins, so ids of calls can be looked up. A caller gets each answer that is in the outbox of a dead worker. The call
 * neither begins again nor fails with the worker, as long as caller and node live and no connection between the three broke.
 */
import type { UnreadFrames } from "../src/runtime/base/outbox.ts";
import { FrameParser, FRAME_FLAG } from "../src/runtime/wire/frame.ts";
import { MESSAGE } from "../src/runtime/wire/messages.ts";
import { taskContext } from "../src/runtime/worker/tasks/task-context.ts";
import type { SimulatedProcess, World } from "./world.ts";

interface Rest {
  readonly worker: SimulatedProcess;
  readonly caller: SimulatedProcess;
}

/** A process that calls others. `prefix`: how its task ids begin. */
interface Caller {
  readonly process: SimulatedProcess;
  readonly prefix: string;
}

export class Rests {
  readonly #world: World;
  readonly #isBroken: (one: string, other: string) => boolean;
  /** Keys of calls in the programs, by prefix and number. */
  readonly #keys = new Map<string, string>();
  readonly #answered = new Map<string, Rest>();
  readonly #items = new Map<string, Rest & { count: number }>();

  /** @param isBroken whether a connection between two processes broke, by their names */
  constructor(world: World, isBroken: (one: string, other: string) => boolean) {
    this.#world = world;
    this.#isBroken = isBroken;
  }

  /** Tells the key of the running call. */
  identify(key: string): void {
    const context = taskContext.current;
    if (context !== undefined) this.#keys.set(`${context.taskIdPrefix}/${context.callId}`, key);
  }

  /** Reads the outboxes of a worker that has ended. */
  found(worker: SimulatedProcess, unread: readonly UnreadFrames[], callerOf: (reader: string) => Caller | undefined): void {
    for (const { reader, bytes } of unread) {
      const caller = callerOf(reader);
      if (caller === undefined) continue;
      const rest = { worker, caller: caller.process };
      const parser = new FrameParser((frame) => {
        const key = this.#keys.get(`${caller.prefix}/${frame.callId}`);
        if (key === undefined) return;
        if (frame.type === MESSAGE.RESULT) this.#answered.set(key, rest);
        if (frame.type === MESSAGE.STREAM_ITEM && (frame.flags & FRAME_FLAG.NUMBER) !== 0)
          this.#items.set(key, { ...rest, count: frame.number + 1 });
      });
      try {
        parser.push(Buffer.from(bytes));
      } catch (error) {
        this.#world.violate(`what ${worker.name} left in an outbox is no frame: ${(error as Error).message}`);
      }
    }
  }

  /** Whether the call has been answered by a worker that has died, so that its caller has the answer or gets it. */
  mustHaveArrived(key: string): boolean {
    return this.#isHandedOver(this.#answered.get(key));
  }

  /** How many items of a stream its reader gets at least. */
  itemsOf(key: string): number {
    const items = this.#items.get(key);
    return this.#isHandedOver(items) ? (items?.count ?? 0) : 0;
  }

  #isHandedOver(rest: Rest | undefined): boolean {
    if (rest === undefined) return false;
    const { worker, caller } = rest;
    const node = this.#world.processes.find(({ name }) => name === worker.machine);
    if (!caller.isAlive || node?.isAlive !== true || caller.machine !== worker.machine) return false;
    return ![
      [worker.name, caller.name],
      [worker.name, node.name],
      [caller.name, node.name],
    ].some(([one, other]) => this.#isBroken(one as string, other as string));
  }
}
