/**
 * Finds the HTTP server of this machine's cluster with its token, and asks it: for commands and clients.
 *
 * The supervisor's file names the address and the file of the token, which this user alone may read. A cluster elsewhere is named by its
 * URL, with a token from the environment or a file.
 */
import { ShoalError } from "../../runtime/base/errors.ts";
import { clustersOfRuns } from "../../runtime/os/files/clusters/local-clusters.ts";
import { readPrivateFile } from "../../runtime/os/files/private-files.ts";
import { readRunFiles, type RunFile } from "../../runtime/os/files/clusters/run-file.ts";
import { readNetworkAddresses } from "../../runtime/os/network/network-address.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface HttpPlace {
  readonly url: string;
  readonly token: string;
}

/** The server beside this machine's head of that cluster. */
export function dashboardOfCluster(clusterAddress: string): RunFile["dashboard"] {
  const wanted = readNetworkAddresses(clusterAddress);
  return readRunFiles().running.find(
    (run) => run.dashboard !== undefined && readNetworkAddresses(run.address).some((one) => wanted.includes(one)),
  )?.dashboard;
}

/** The folder in which a run of this machine keeps the history of that cluster. */
export function historyOfCluster(clusterAddress: string): string | undefined {
  const wanted = readNetworkAddresses(clusterAddress);
  return readRunFiles().running.find(
    (run) => run.history !== undefined && readNetworkAddresses(run.address).some((one) => wanted.includes(one)),
  )?.history;
}

/**
 * The server that a command asks.
 *
 * @param address `http(s)://HOST:PORT`, or that of a head of this machine; undefined: the cluster of this machine
 * @throws ShoalError where there is none, or no token
 */
export function httpPlaceOf(environment: Environment, address: string | undefined): HttpPlace {
  const action = "find the dashboard";
  if (address !== undefined && /^https?:\/\//.test(address)) {
    const file = environment["SHOAL_AUTH_TOKEN_FILE"];
    const token = environment["SHOAL_AUTH_TOKEN"] ?? (file === undefined ? undefined : readPrivateFile(file)?.trim());
    if (token !== undefined && token !== "") return { url: address.replace(/\/+$/, ""), token };
    throw new ShoalError(`Cannot ask ${address}: there is no token.`, {
      reason: "there is no token",
      hint: "Put what `shoal get-auth-token` prints on the head's machine into SHOAL_AUTH_TOKEN, or into the file of SHOAL_AUTH_TOKEN_FILE.",
    });
  }
  const heads = readRunFiles().running.filter(({ role }) => role === "head");
  const found =
    address === undefined
      ? heads
      : heads.filter((run) => readNetworkAddresses(run.address).some((one) => readNetworkAddresses(address).includes(one)));
  if (clustersOfRuns(found).length > 1)
    throw new ShoalError(`Cannot ${action}: several clusters have their head on this machine.`, {
      reason: "several clusters have their head here",
      hint: "Name one with --address HOST:PORT; `shoal status` shows the addresses.",
    });
  const dashboard = found.find((run) => run.dashboard !== undefined)?.dashboard;
  if (dashboard === undefined) {
    const reason =
      found.length === 0
        ? "no head runs on this machine"
        : "the head of this machine was started with --no-dashboard, or its dashboard is starting again";
    throw new ShoalError(`Cannot ${action}: ${reason}.`, {
      reason,
      hint: "Run it on the head's machine, or give --address http://HOST:PORT with the token in SHOAL_AUTH_TOKEN.",
    });
  }
  const token = readPrivateFile(dashboard.tokenFile)?.trim();
  if (token === undefined)
    throw new ShoalError(`Cannot ${action}: ${dashboard.tokenFile} is missing.`, { reason: "the token's file is missing" });
  return { url: dashboard.url, token };
}

/** Asks the server. @throws ShoalError when it is not reached, or refuses */
export async function askHttp(
  { url, token }: HttpPlace,
  method: "GET" | "POST" | "DELETE" | "PUT",
  path: string,
  body?: object | Uint8Array,
): Promise<unknown> {
  const isJson = body !== undefined && !(body instanceof Uint8Array);
  const headers = { authorization: `Bearer ${token}`, ...(isJson ? { "content-type": "application/json" } : {}) };
  const sent = body === undefined ? {} : { body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, headers, ...sent }).catch((cause: Error) => {
    throw new ShoalError(`Cannot reach ${url}: ${messageOfFetch(cause)}.`, {
      reason: messageOfFetch(cause),
      hint: "See `shoal status`.",
      cause,
    });
  });
  const text = await response.text();
  if (!response.ok)
    throw new ShoalError(text === "" ? `${url} refuses with status ${response.status}.` : text, {
      reason: text,
      details: { status: response.status },
    });
  return response.headers.get("content-type")?.startsWith("application/json") === true ? JSON.parse(text) : text;
}

function messageOfFetch({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message : message;
}
