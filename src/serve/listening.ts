/**
 * Servers that begin to listen, and what keeps them from it, in the words of whoever chose host and port.
 *
 * Called by the proxies and by the REST API. Decides nothing besides the message.
 */
import type { ListenOptions, Server } from "node:net";
import { ListenError } from "./errors.ts";

interface Place extends ListenOptions {
  readonly host: string;
  readonly port: number;
}

/** Resolves when the server listens. @throws ListenError */
export async function listenAt(server: Server, place: Place): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(place, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (error) {
    throw listenError(place, error as NodeJS.ErrnoException);
  }
}

/** The error for a place where a server cannot listen. */
function listenError({ host, port }: Pick<Place, "host" | "port">, cause: NodeJS.ErrnoException): ListenError {
  const { reason, hint } = CAUSES[cause.code ?? ""] ?? { reason: cause.message, hint: "Choose another host or port." };
  const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new ListenError(`Cannot listen on ${where}: ${reason}`, { reason, hint, details: { host, port, code: cause.code }, cause });
}

const CAUSES: Readonly<Partial<Record<string, { reason: string; hint: string }>>> = {
  EADDRINUSE: {
    reason: "another program has the port",
    hint: "End that program, or choose another port, such as serve.start({ httpOptions: { port: 8001 } }); port 0 takes one that is free.",
  },
  EADDRNOTAVAIL: {
    reason: "this machine has no such address",
    hint: 'Choose an address of this machine as host: "127.0.0.1" is reached from here alone, "0.0.0.0" from everywhere.',
  },
  EACCES: { reason: "this user may not listen there", hint: "Choose a port from 1024." },
  ENOTFOUND: { reason: "there is no such host", hint: "Choose an address of this machine as host." },
};
