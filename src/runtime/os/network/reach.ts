/**
 * Checks whether an address has a listener, and which address of this machine leads there.
 *
 * Called before a node is started for a head, so that a wrong address or a closed port is reported at once and in words. Whether a host is
 * an address of this machine is found by listening there for a moment, as only the system knows.
 */
import net from "node:net";
import { networkInterfaces } from "node:os";
import { ShoalError } from "../../base/errors.ts";
import { CONNECT_WITHIN_MS, REFUSES_WITHIN_MS } from "../limits.ts";
import { networkFaults } from "./network-faults.ts";
import { parseNetworkAddress, formatAddress } from "./network-address.ts";

/** @returns this machine's address on the way there. @throws ShoalError with the reason why nobody is reached */
export function reach(address: string, what: string): Promise<string> {
  const { host, port } = parseNetworkAddress(address);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port });
    const fail = (code: string): void => {
      socket.destroy();
      const [reason, hint] = REASONS[code] ?? [`the system says ${code}`, "Check the address."];
      reject(new ShoalError(`Cannot reach ${what} at ${formatAddress(address)}: ${reason}.`, { reason, hint }));
    };
    socket.setTimeout(CONNECT_WITHIN_MS, () => fail("ETIMEDOUT"));
    socket.once("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    socket.once("connect", () => {
      const near = socket.localAddress ?? "127.0.0.1";
      socket.destroy();
      resolve(near.replace(/^::ffff:/, ""));
    });
  });
}

/** Whether the system there refuses connections, as after the end of the listening process. Undefined without an answer. */
export async function refusesConnections(address: string): Promise<boolean | undefined> {
  const { host, port } = parseNetworkAddress(address);
  if (networkFaults()?.isConnected(host) === false) return undefined;
  return await new Promise((resolve) => {
    const socket = net.connect({ host, port });
    const end = (refuses: boolean | undefined): void => {
      socket.destroy();
      resolve(refuses);
    };
    socket.setTimeout(REFUSES_WITHIN_MS, () => end(undefined));
    socket.once("error", ({ code }: NodeJS.ErrnoException) => end(code === "ECONNREFUSED" ? true : undefined));
    socket.once("connect", () => end(false));
  });
}

const REASONS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ECONNREFUSED: [
    "nothing listens there",
    "Is the head running (`shoal status` on its machine), and is the address the one that `shoal start --head` printed?",
  ],
  ETIMEDOUT: [
    `there was no answer within ${CONNECT_WITHIN_MS / 1000} s`,
    "Is the machine up, and does its firewall let this port through? docs/cluster.md lists the ports.",
  ],
  EHOSTUNREACH: ["there is no way to that machine", "Are both machines in one network?"],
  ENETUNREACH: ["there is no way to that network", "Are both machines in one network?"],
  ENOTFOUND: ["no machine of that name is known", "Write the head's IP address, or a name that this machine can resolve."],
  EAI_AGAIN: ["the name could not be resolved", "Write the head's IP address."],
};

/** @throws ShoalError for a host that is no address of this machine, with the values that `option` takes */
export async function assertOwnHost(host: string, option: string): Promise<void> {
  const server = net.createServer();
  try {
    await new Promise((resolve, reject) => server.once("error", reject).listen(0, host, () => resolve(undefined)));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const reason = NOT_OWN[code] ?? `the system says ${code}`;
    throw new ShoalError(`Cannot listen at ${host}: ${reason}.`, {
      reason,
      hint: `Give ${option} an address of this machine: ${["127.0.0.1", ...ownAddresses()].join(", ")}.`,
      cause: error,
    });
  } finally {
    server.close();
  }
}

const NOT_OWN: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: "it is not an address of this machine",
  ENOTFOUND: "no machine of that name is known",
  EAI_AGAIN: "the name could not be resolved",
};

/** Addresses of this machine by which others may reach it. */
export function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.filter(({ internal, family }) => !internal && family === "IPv4").map(({ address }) => address);
}
