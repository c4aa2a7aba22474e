/**
 * Holds back the head's output until its changes are committed.
 *
 * The head is written as if every event took effect at once. In a cluster it runs inside `run` and sees nodes and processes through this
 * gate. Messages, replies and requests are put aside in order, and the journal releases them after the event's commit. Answers that changed
 * nothing wait too, behind earlier changes, so that nobody reads a change that a crash could undo. Invariant: the gate holds copies, not
 * tables that continue to change.
 */
import type { HeadPeer, NodeServices } from "../../rpc/head-service.ts";
import type { PeerConnection } from "../../rpc/peer-connection.ts";
import type { Journal } from "./journal.ts";
import type { StoreWrite } from "../../control-plane/control-store.ts";

/** The fields of a node that the head reads; all others are commands. */
type Commands = Omit<NodeServices, "nodeId" | "daemonId" | "info" | "peer" | "view">;
/** An answer of a command could not be waited for here: a command that has one does not compile. */
type CommandsWithAnswer = {
  [Name in keyof Commands]: Commands[Name] extends (...args: never[]) => infer Answer ? (Answer extends void ? never : Name) : never;
}[keyof Commands];

interface OutputGateOptions {
  readonly journal: Journal;
  /** Returns the writes that the tables have noted since the last call. */
  readonly takeWrites: () => readonly StoreWrite[];
}

export class OutputGate {
  readonly #options: OutputGateOptions;
  #held: (() => void)[] | undefined;

  constructor(options: OutputGateOptions) {
    this.#options = options;
  }

  /** Runs one event of the head. @param then follow-up after the commit, such as acknowledging the event's message */
  run<T>(body: () => T, then?: () => void): T {
    if (this.#held !== undefined) return body();
    const held: (() => void)[] = [];
    this.#held = held;
    try {
      return body();
    } finally {
      this.#held = undefined;
      if (then !== undefined) held.push(then);
      this.#options.journal.after(this.#options.takeWrites(), () => {
        for (const action of held) action();
      });
    }
  }

  /** Wraps a node for the head. */
  node(node: CommandsWithAnswer extends never ? NodeServices : never): NodeServices {
    return new Proxy(node, {
      get: (target, name) => {
        if (name === "peer") return (id: HeadPeer["id"]) => this.peer(target.peer(id));
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (name === "view") return () => target.view();
        return (...args: unknown[]) => this.#hold(args, (kept) => Reflect.apply(member, target, kept));
      },
    });
  }

  /** Adds an action that waits for the commit. */
  after(action: () => void): void {
    this.#hold([], action);
  }

  /** Wraps a process for the head. */
  peer(peer: HeadPeer): HeadPeer;
  peer(peer: HeadPeer | undefined): HeadPeer | undefined;
  peer(peer: HeadPeer | undefined): HeadPeer | undefined {
    if (peer === undefined) return undefined;
    const { id, holderId, connection } = peer;
    const gated: PeerConnection = {
      send: (type, header, options) => this.#hold([header], ([kept]) => connection.send(type, kept, options)),
      request: (type, header, options) =>
        new Promise((resolve) => this.#hold([header], ([kept]) => resolve(connection.request(type, kept, options)))),
      reply: (callId, header, parts) => this.#hold([header], ([kept]) => connection.reply(callId, kept, parts)),
      replyError: (callId, error) => this.#hold([], () => connection.replyError(callId, error)),
    };
    return { id, holderId, connection: gated };
  }

  /** An action that the head takes by a timer is an event, too. */
  #hold(args: readonly unknown[], action: (kept: unknown[]) => void): void {
    if (this.#held === undefined) {
      this.run(() => this.#hold(args, action));
      return;
    }
    const kept = args.map((arg) => (typeof arg === "object" && arg !== null ? structuredClone(arg) : arg));
    this.#held.push(() => action(kept));
  }
}
