/**
 * Asking extensions from a driver or a worker: those of the head, and those of this node's daemon.
 *
 * Questions and answers have the shapes that the extension gives its messages, so both ends are typed and checked.
 */
import type { AnsweredOf, AskedOf, ExtensionMessages } from "../extension/extension.ts";
import { problemOf } from "../wire/header-shape.ts";
import { MESSAGE } from "../wire/messages.ts";
import { isWireError } from "../wire/wire-error.ts";
import { requireRunning } from "./current-runtime.ts";

export interface ExtensionClient<M extends ExtensionMessages> {
  /**
   * Asks, and resolves with the answer. A question whose answer is lost with the head is asked again of the next one, with the same `question` in its caller.
   *
   * @throws Error where the extension refuses (`refusalOf` tells with what), and where it is not loaded there
   */
  ask<N extends keyof M & string>(message: N, header: AskedOf<M[N]>): Promise<AnsweredOf<M[N]>>;
  /** The same without an answer. */
  tell<N extends keyof M & string>(message: N, header: AskedOf<M[N]>): void;
}

/** The extension of that name in the head, or in the daemon of this node. */
export function extensionClient<M extends ExtensionMessages>(
  name: string,
  messages: M,
  place: "head" | "node" = "head",
): ExtensionClient<M> {
  const type = place === "head" ? MESSAGE.EXTENSION : MESSAGE.NODE_EXTENSION;
  return {
    ask: async (message, header) => {
      const runtime = requireRunning();
      const asked = { extension: name, message, header };
      const { header: answer } = await runtime.holdWhile(runtime.daemon.request(type, asked, { timeoutMs: 0 }));
      const shape = messages[message]?.answers;
      if (shape === undefined || !shape(answer))
        throw new TypeError(`Cannot read the answer to ${message} of extension ${name}: ${shape && problemOf(shape, answer, "it")}`);
      return answer as AnsweredOf<M[typeof message]>;
    },
    tell: (message, header) => requireRunning().daemon.send(type, { extension: name, message, header }),
  };
}

/** What an extension refused a question with: the name, message and details of the error that it threw. */
export interface ExtensionRefusal {
  readonly name: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Undefined for any other error. */
export function refusalOf(error: unknown): ExtensionRefusal | undefined {
  if (!isWireError(error, "extension")) return undefined;
  const { name, ...details } = error.details;
  return { name: String(name), message: error.message, details };
}
