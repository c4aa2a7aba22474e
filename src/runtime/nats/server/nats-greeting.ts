/**
 * The first line of a nats-server to whoever connects: proof that it is up, and who it is.
 *
 * Asked with a plain or a TLS connection and without credentials, which a server does not need to see for its greeting. Nothing is sent.
 * By whoever has started a server, by a head that looks for those of its store, and by nodes that look whether these are away.
 */
import net from "node:net";
import { networkFaults } from "../../os/network/network-faults.ts";
import { parseNetworkAddress } from "../../os/network/network-address.ts";

const GREETING_BYTES_MAX = 16 * 1024;

/** The name of the server that greets. @throws Error when nobody answers in time, or something that is no nats-server */
export function serverNameAt(place: { host: string; port: number; caPem?: string | undefined; timeoutMs: number }): Promise<string> {
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
      resolve((JSON.parse(line) as { server_name?: string }).server_name ?? "");
    });
  });
}

/** What an address of a nats-server has to say: it `lives`, it takes connections and is `silent`, or it `refuses` them; undefined when nothing is heard from there, or what proves nothing. */
export type NatsWord = "lives" | "silent" | "refuses";

/** @param name of the server that is to greet there; another one there is no word of it */
export async function natsWordAt(address: string, { name, withinMs }: { name: string; withinMs: number }): Promise<NatsWord | undefined> {
  const { host, port } = parseNetworkAddress(address);
  if (networkFaults()?.isConnected(host) === false) return undefined;
  return await new Promise((resolve) => {
    // One address of a name: where it has several, one that refuses says nothing of the others.
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
    // Whoever takes a connection and ends it without a word may stand before a server that it does not reach.
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
