/**
 * Asking extensions from a driver or a worker: those of the head, and those of any node's daemon.
 *
 * Questions and answers have the shapes that the extension gives its messages, so both ends are typed and checked. The core's only client of extensions:
 * libraries import it from `core/internal.ts`.
 */
import type { NodeId } from "../../runtime/base/ids.ts";
import type { AnsweredOf, AskedOf, ExtensionMessages } from "../../runtime/extension/extension.ts";
import { ANSWERS_WITHIN_MS, NODE_SILENT_AFTER_MS } from "../../runtime/extension/limits.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import { problemOf, type Shape } from "../../runtime/wire/header-shape.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { WireError } from "../../runtime/wire/wire-error.ts";
import { requireRunning } from "../current-runtime.ts";

/** Asks one extension in one place. */
export interface ExtensionClient<M extends ExtensionMessages> {
  /**
   * Asks, and resolves with the answer. A question whose answer is lost with the head is asked again of the next one, with the same `question` in its caller.
   *
   * @throws ExtensionRefusal where the extension refuses
   * @throws ShoalError where it is not loaded, or its node is gone or silent
   * @throws TypeError for a header that is not of the message's shape
   */
  ask<N extends keyof M & string>(message: N, header: AskedOf<M[N]>): Promise<AnsweredOf<M[N]>>;
  /** The same for an answer with bytes (`withBytes`). Without any the bytes are empty. */
  askForBytes<N extends keyof M & string>(
    message: N,
    header: AskedOf<M[N]>,
  ): Promise<{ readonly answer: AnsweredOf<M[N]>; readonly bytes: Uint8Array }>;
  /** Sends a message that is not answered. */
  tell<N extends keyof M & string>(message: N, header: AskedOf<M[N]>): void;
}

/** The head, the daemon of this process's node, or the daemon of another node. */
export type ExtensionPlace = "head" | "node" | { readonly node: NodeId };

/** The extension of that name in the head, or in the daemon of a node. */
export function extensionClient<M extends ExtensionMessages>(
  name: string,
  messages: M,
  place: ExtensionPlace = "head",
): ExtensionClient<M> {
  const type = place === "head" ? MESSAGE.EXTENSION : MESSAGE.NODE_EXTENSION;
  const node = typeof place === "object" ? { node: place.node } : {};
  const askForBytes: ExtensionClient<M>["askForBytes"] = async (message, header) => {
    const runtime = requireRunning();
    const action = `ask ${message} of extension ${name}`;
    // The link to this node's daemon and the head's questions outlive failures; a node elsewhere may die with the question.
    const timeoutMs = typeof place === "object" ? (messages[message]?.withinMs ?? ANSWERS_WITHIN_MS) + NODE_SILENT_AFTER_MS : 0;
    const asked = runtime.daemon.request(type, { extension: name, message, header, ...node }, { timeoutMs });
    const { header: answer, body } = await runtime.holdWhile(asked).catch((error: unknown) => {
      throw errorOf(action, error);
    });
    const shape = messages[message]?.answers as Shape;
    if (!shape(answer)) throw new TypeError(`Cannot ${action}: ${problemOf(shape, answer, "the answer")}`);
    return { answer: answer as AnsweredOf<M[typeof message]>, bytes: body };
  };
  return {
    ask: async (message, header) => (await askForBytes(message, header)).answer,
    askForBytes,
    tell: (message, header) => requireRunning().daemon.send(type, { extension: name, message, header, ...node }),
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
