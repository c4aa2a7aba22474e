/**
 * Texts that a cluster sends over a WebSocket, as an iterator.
 *
 * Texts that their reader has not taken yet wait in memory up to a bound; beyond it the connection is read no further until some are taken.
 */
import { WebSocket } from "ws";
import { ShoalError } from "../../runtime/base/errors.ts";
import type { HttpPlace } from "../connection/http-place.ts";
import { TAIL_WAITING_MAX } from "./limits.ts";

const NORMAL = 1000;

/** @throws ShoalError when the server refuses, or the connection breaks off */
export async function* jobTexts({ url, token }: HttpPlace, path: string): AsyncGenerator<string, void, undefined> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const waiting: string[] = [];
  let failure: ShoalError | undefined;
  let hasEnded = false;
  let wake = (): void => {};
  socket.on("message", (data, isBinary) => {
    // Text messages alone are sent, as one buffer each.
    if (!isBinary) waiting.push((data as Buffer).toString("utf8"));
    if (waiting.length >= TAIL_WAITING_MAX) socket.pause();
    wake();
  });
  socket.on("unexpected-response", (_request, response) => {
    let text = "";
    response.on("data", (piece: Buffer) => (text = (text + piece.toString("utf8")).slice(0, TEXT_MAX)));
    response.on("end", () => {
      failure = new ShoalError(text, { reason: text, details: { status: response.statusCode } });
      socket.terminate();
    });
  });
  socket.on("error", ({ message }) => {
    failure ??= new ShoalError(`Cannot follow the job's log: ${message}.`, { reason: message });
  });
  socket.on("close", (code) => {
    if (code !== NORMAL) failure ??= brokenOff(code);
    hasEnded = true;
    wake();
  });
  try {
    for (;;) {
      const text = waiting.shift();
      if (text !== undefined) {
        if (socket.isPaused) socket.resume();
        yield text;
      } else if (hasEnded) {
        if (failure !== undefined) throw failure;
        return;
      } else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    socket.terminate();
  }
}

const TEXT_MAX = 10_000;

function brokenOff(code: number): ShoalError {
  const reason = `the connection broke off with the code ${code}`;
  return new ShoalError(`Cannot follow the job's log: ${reason}.`, { reason, hint: "The job goes on; ask for its log again." });
}
