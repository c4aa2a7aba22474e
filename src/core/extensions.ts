/**
 * Asking extensions from a driver or a worker: those of the head, and those of this node's daemon.
 *
 * Questions and answers have the shapes that the extension gives its messages, so both ends are typed and checked.
 */
import type { AnsweredOf, AskedOf, ExtensionMessages } from "../runtime/extension/extension.ts";
import { ShoalError } from "../runtime/base/errors.ts";
import { problemOf, type Shape } from "../runtime/wire/header-shape.ts";
import { MESSAGE } from "../runtime/wire/messages.ts";
import { WireError } from "../runtime/wire/wire-error.ts";
import { requireRunning } from "./current-runtime.ts";

/** Asks one extension in one place. */
export interface ExtensionClient<M extends ExtensionMessages> {
  /**
   * Asks, and resolves with the answer. A question whose answer is lost with the head is asked again of the next one, with the same `question` in its caller.
   *
   * @throws ExtensionRefusal where the extension refuses
   * @throws ShoalError where it is not loaded
   * @throws TypeError for a header that is not of the message's shape
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
      const action = `ask ${message} of extension ${name}`;
      const { header: answer } = await runtime.holdWhile(runtime.daemon.request(type, asked, { timeoutMs: 0 })).catch((error: unknown) => {
        throw errorOf(action, error);
      });
      const shape = messages[message]?.answers as Shape;
      if (!shape(answer)) throw new TypeError(`Cannot ${action}: ${problemOf(shape, answer, "the answer")}`);
      return answer as AnsweredOf<M[typeof message]>;
    },
    tell: (message, header) => requireRunning().daemon.send(type, { extension: name, message, header }),
  };
}

/** An extension has refused a question, with the `details` of the error that it threw: a library makes its own error of it. */
export class ExtensionRefusal extends ShoalError {
  /** The name of the error that the extension threw. */
  readonly errorName: string;

  constructor(action: string, error: WireError) {
    const { name, ...details } = error.details;
    super(`Cannot ${action}: ${error.message}`, { reason: error.message, details });
    this.errorName = String(name);
  }
}

function errorOf(action: string, error: unknown): unknown {
  if (!(error instanceof WireError)) return error;
  const { code, message: reason } = error;
  if (code === "extension") return new ExtensionRefusal(action, error);
  const text = `Cannot ${action}: ${reason}`;
  if (code === "malformed") return new TypeError(text);
  const hint = code === "notFound" ? NOT_LOADED : "See what the head or the node printed when it started.";
  return new ShoalError(text, { reason, hint, cause: error });
}

const NOT_LOADED =
  "Import its library before init(). A cluster has the extensions that it was started with: `shoal start --extension FILE`, on each machine.";
