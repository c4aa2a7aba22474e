/**
 * Reads the first line that a nats-server sends on a new connection. It proves that the server is up, and names it.
 *
 * Connects in plain text or with TLS, without credentials, since a server greets before it checks any. Nothing is sent. Used by the code
 * that starts a server, by heads that look for their store's servers, and by nodes that check whether those are away.
 */
import net from "node:net";
import { networkFaults } from "../../os/network/network-faults.ts";
import { parseNetworkAddress } from "../../os/network/network-address.ts";

const GREETING_BYTES_MAX = 16 * 1024;

/** Returns the name of the server that greets. @throws Error when nobody answers in time, or the answer is not a nats-server's */
export function serverNameAt(place: { host: string; port: number; caPem?: string | undefined; timeoutMs: number }): Promise<string> {
  const { host, port, caPem, timeoutMs } = place;
  // The certificate has to be the cluster's. Code that sends data checks the server's name in it.
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
      resolve((JSON.parse(line) as { server_name?: string }).server_name ?? "");
    });
  });
}

/**
 * State of a nats-server's address: it `lives`, it accepts connections but stays `silent`, or it `refuses` them. Undefined if there is no
 * answer, or the answer proves nothing.
 */
export type NatsWord = "lives" | "silent" | "refuses";

/** @param name of the server that has to greet; another server's greeting proves nothing */
export async function natsWordAt(address: string, { name, withinMs }: { name: string; withinMs: number }): Promise<NatsWord | undefined> {
  const { host, port } = parseNetworkAddress(address);
  if (networkFaults()?.isConnected(host) === false) return undefined;
  return await new Promise((resolve) => {
    // Tries one address of a name. If the name has several, a refusal by one says nothing about the others.
    const socket = net.connect({ host, port, autoSelectFamily: false });
    let isTaken = false;
    let text = "";
    const end = (word: NatsWord | undefined): void => {
      socket.destroy();
      resolve(word);
    };
    const timer = setTimeout(() => end(isTaken ? "silent" : undefined), withinMs);
    socket.once("connect", () => {
      isTaken = true;
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) => end(code === "ECONNREFUSED" ? "refuses" : undefined));
    // A connection that closes without a greeting may have met a proxy that cannot reach the server.
    socket.once("close", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const line = /^INFO (\{.*\})\s*\n/.exec(text)?.[1];
      if (line !== undefined) end(serverNameIn(line) === name ? "lives" : undefined);
      else if (text.length > GREETING_BYTES_MAX) end(undefined);
    });
  });
}

function serverNameIn(line: string): string | undefined {
  try {
    return (JSON.parse(line) as { server_name?: string }).server_name;
  } catch {
    return undefined;
  }
}
