/**
 * Addresses of the network, `tcp://host:port`: how they are read and written, and which of them never leave the machine.
 *
 * IPv6 is written in brackets. Port 0 lets the system choose. Only processes of this machine can reach a host of the loopback network, so a
 * token is enough there; all other connections use TLS.
 */
import { isIP } from "node:net";

interface NetworkAddress {
  /** A name or an IP address, without brackets. */
  host: string;
  port: number;
}

const SCHEME = "tcp://";
/** The port of a head that was started without one. */
const EXAMPLE_PORT = 6380;

export function isNetworkAddress(address: string): boolean {
  return address.startsWith(SCHEME);
}

/** @throws RangeError when the text is not of the form `tcp://host:port`. */
export function parseNetworkAddress(address: string): NetworkAddress {
  const match = /^tcp:\/\/(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (match === null || host === undefined || port > 65_535 || (match[1] !== undefined && isIP(host) !== 6)) {
    throw new RangeError(
      `Cannot use an address: it is not of the form tcp://host:port: received ${JSON.stringify(address)}. Write tcp://10.0.0.7:6379, or tcp://[fd00::7]:6379 for IPv6`,
    );
  }
  return { host, port };
}

/** As people write it: `10.0.0.7:6380`, with or without `tcp://`; `localhost` is 127.0.0.1. @throws RangeError for anything else */
export function readNetworkAddress(text: string): string {
  const problem = problemOf(isNetworkAddress(text) ? text.slice(SCHEME.length) : text);
  if (problem !== undefined) throw new RangeError(`Cannot use an address: ${problem[0]}: received ${text}. Write ${problem[1]}.`);
  const { host, port } = parseNetworkAddress(isNetworkAddress(text) ? text : SCHEME + text);
  return formatNetworkAddress({ host: host.toLowerCase() === "localhost" ? "127.0.0.1" : host, port });
}

/** Returns the fault and the correction for common mistakes; undefined for all other texts. */
function problemOf(text: string): readonly [problem: string, instead: string] | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\/(.*?)\/*$/i.exec(text);
  if (scheme !== null) return [`${scheme[1]}:// is not how a head is reached`, `the host and the port alone: ${scheme[2]}`];
  if (isIP(text) === 6) return ["an IPv6 address stands in brackets and has a port", `[${text}]:${EXAMPLE_PORT}`];
  if (isIP(text.replace(/^\[|\]$/g, "")) !== 0 || /^[A-Za-z0-9._-]+$/.test(text)) return ["it has no port", `${text}:${EXAMPLE_PORT}`];
  return undefined;
}

/** Reads one or several addresses, separated by commas. @throws RangeError for anything else */
export function readNetworkAddresses(text: string): string[] {
  return Array.from(new Set(text.split(",").map((one) => readNetworkAddress(one.trim()))));
}

/** As people read several. */
export function formatAddresses(addresses: readonly string[]): string {
  return addresses.map(formatAddress).join(",");
}

/** As people read it: without the scheme. */
export function formatAddress(address: string): string {
  return isNetworkAddress(address) ? address.slice(SCHEME.length) : address;
}

export function formatNetworkAddress({ host, port }: NetworkAddress): string {
  return `${SCHEME}${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Whether only processes of this machine reach the host. A name other than `localhost` may mean anything, so it does not count. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i.test(host);
}
