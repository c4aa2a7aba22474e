/**
 * Answers the questions that processes ask extensions of the head or of a daemon.
 *
 * Checks that the extension and the message exist and that the header is of the message's shape; an extension that could not begin says why to everyone who asks it.
 */
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import { problemOf } from "../wire/header-shape.ts";
import type { ExtensionHeader } from "../wire/extension-messages.ts";
import { WireError } from "../wire/wire-error.ts";
import type { ExtensionTable } from "./extension.ts";

/** The messages of each extension, or why it has not begun. */
type OpenExtensions = ReadonlyMap<string, ExtensionTable | Error>;

/** @param place where the extension would be, for messages: "the head" */
export function answerQuestion(
  open: OpenExtensions,
  place: string,
  asked: ExtensionHeader,
  { id, connection }: HeadPeer,
  { callId }: Message,
): void {
  try {
    const answer = answerOf(open, place, asked, { process: id, question: `${id}/${callId}` });
    // What is told has no number.
    if (callId !== 0) connection.reply(callId, answer);
  } catch (error) {
    if (callId !== 0) connection.replyError(callId, error instanceof WireError ? error : refusal(error));
    else console.error(`shoal: extension ${asked.extension} refused ${asked.message}: ${(error as Error).message}`);
  }
}

function answerOf(
  open: OpenExtensions,
  place: string,
  { extension, message, header }: ExtensionHeader,
  from: { process: HeadPeer["id"]; question: string },
): unknown {
  const table = open.get(extension);
  if (table === undefined) throw new WireError("notFound", `${place} has no extension ${JSON.stringify(extension)}`);
  if (table instanceof Error) throw new WireError("failed", `the extension ${extension} of ${place} has not begun: ${table.message}`);
  const row = table.get(message);
  if (row === undefined)
    throw new WireError("malformed", `the extension ${extension} of ${place} has no message ${JSON.stringify(message)}`);
  if (!row.asks(header))
    throw new WireError("malformed", `the message ${message} of ${extension} is malformed: ${problemOf(row.asks, header)}`);
  return row.answer(header, from);
}

/** By its name and not by its class: the extension may have been loaded with another copy of this module. */
function refusal(error: unknown): WireError {
  const { name, message, details } = error as Error & { details?: unknown };
  const plain = typeof details === "object" && details !== null ? details : {};
  return new WireError("extension", message, { ...plain, name });
}
