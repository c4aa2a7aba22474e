/**
 * The first line of a nats-server to whoever connects: proof that it is up, and who it is.
 *
 * Asked with a plain or a TLS connection and without credentials, which a server does not need to see for its greeting. Nothing is sent.
 */
import net from "node:net";

export interface NatsGreeting {
  readonly serverName: string;
  readonly version: string;
  readonly hasJetStream: boolean;
}

const GREETING_BYTES_MAX = 16 * 1024;

/** @throws Error when nobody answers in time, or something that is no nats-server */
export function readNatsGreeting(place: {
  host: string;
  port: number;
  caPem?: string | undefined;
  timeoutMs: number;
}): Promise<NatsGreeting> {
  const { host, port, caPem, timeoutMs } = place;
  // The certificate has to be the cluster's; which of its names the server bears is for those to check who send it something.
  const socket =
    caPem === undefined
      ? net.connect({ host, port })
      : process.getBuiltinModule("node:tls").connect({ host, port, ca: caPem, checkServerIdentity: () => undefined });
  return new Promise((resolve, reject) => {
    let text = "";
    const fail = (reason: string): void => {
      socket.destroy();
      reject(new Error(reason));
    };
    socket.setTimeout(timeoutMs, () => fail("no greeting in time"));
    socket.once("error", (error) => fail(error.message));
    socket.once("close", () => fail("the connection was closed before the greeting"));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const line = /^INFO (\{.*\})\s*\n/.exec(text)?.[1];
      if (line === undefined) return text.length > GREETING_BYTES_MAX ? fail("it is no nats-server") : undefined;
      socket.destroy();
      const info = JSON.parse(line) as { server_name?: string; version?: string; jetstream?: boolean };
      resolve({ serverName: info.server_name ?? "", version: info.version ?? "", hasJetStream: info.jetstream === true });
    });
  });
}
