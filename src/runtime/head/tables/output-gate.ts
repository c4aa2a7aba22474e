/**
 * Holds back what the head says until what it changed is kept.
 *
 * The head is written as if it did everything at once. In a cluster it runs inside `run`, and sees nodes and processes through this: what it sends, replies and asks for is put
 * aside, in its order, and let out by the journal after the commit of the event. Answers that changed nothing wait too, behind what was changed before them, so that nobody reads what a crash could
 * take back. Invariant: what is put aside is a copy, not a table that goes on changing.
 */
import type { HeadPeer, NodeServices } from "../../rpc/head-service.ts";
import type { PeerConnection } from "../../rpc/peer-connection.ts";
import type { Journal } from "./journal.ts";
import type { StoreWrite } from "../../control-plane/control-store.ts";

/** What the head reads of a node; everything else is something that the node is to do. */
type Commands = Omit<NodeServices, "nodeId" | "daemonId" | "info" | "peer" | "view">;
/** An answer of a command could not be waited for here: a command that has one does not compile. */
type CommandsWithAnswer = {
  [Name in keyof Commands]: Commands[Name] extends (...args: never[]) => infer Answer ? (Answer extends void ? never : Name) : never;
}[keyof Commands];

interface OutputGateOptions {
  readonly journal: Journal;
  /** What the tables have noted since the last call. */
  readonly takeWrites: () => readonly StoreWrite[];
}

export class OutputGate {
  readonly #options: OutputGateOptions;
  #held: (() => void)[] | undefined;

  constructor(options: OutputGateOptions) {
    this.#options = options;
  }

  /** One event of the head. @param then what is to be done when all of it is kept, such as the acknowledgement of the message that it came from */
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

  /** A node as the head is to see it. */
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

  /** What else is to wait until it is kept. */
  after(action: () => void): void {
    this.#hold([], action);
  }

  /** A process as the head is to see it. */
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

  /** What the head does by a timer of its own is an event like any other. */
  #hold(args: readonly unknown[], action: (kept: unknown[]) => void): void {
    if (this.#held === undefined) {
      this.run(() => this.#hold(args, action));
      return;
    }
    const kept = args.map((arg) => (typeof arg === "object" && arg !== null ? structuredClone(arg) : arg));
    this.#held.push(() => action(kept));
  }
}
