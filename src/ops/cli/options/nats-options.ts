/**
 * The options of `shoal start` that say where a NATS is that runs already, and how it lets a head in: read, and checked before anything is started.
 *
 * `nats://` speaks plainly and `tls://` over TLS, from the beginning or after the server's greeting, with the system's authorities or the
 * one of `--nats-ca`. Credentials are in the addresses (a token, or a user and a password), or in a file. Nothing connects here. Messages
 * about `--nats-url` never show credentials.
 */
import type { OtherNats } from "../../supervisor/supervisor-process.ts";
import { isLoopbackHost } from "../../../runtime/os/network/network-address.ts";
import { readNatsAuthority, readNatsCredentials } from "../../../runtime/nats/server/nats-login-files.ts";
import { UsageError } from "../command.ts";
import { misused } from "./node-options.ts";

interface NatsValues {
  readonly "nats-url": string;
  readonly "nats-ca": string | undefined;
  readonly "nats-credentials": string | undefined;
}

const FORMS = "takes nats://host:port or tls://host:port, with TOKEN@ or USER:PASSWORD@ before the host where the servers ask for it";

/** @throws UsageError, RangeError, ShoalError for a file that cannot be read */
export function natsOf(values: NatsValues): OtherNats {
  const { "nats-url": text, "nats-ca": caFile, "nats-credentials": credentialsFile } = values;
  const urls = text.split(",").map((one) => URL.parse(one.trim()));
  const isGood = (url: URL | null): url is URL => (url?.protocol === "nats:" || url?.protocol === "tls:") && url.hostname !== "";
  if (!urls.every(isGood)) throw misused("nats-url", FORMS, withoutSecrets(text));
  if (!urls.every(hasReadableLogin)) throw misused("nats-url", "takes %25 for a % in a token, user or password", withoutSecrets(text));
  if (new Set(urls.map(({ username, password }) => `${username}:${password}`)).size > 1)
    throw misused("nats-url", "takes the same token, or user and password, for all servers", withoutSecrets(text));
  const [{ protocol, username, password }] = urls as [URL];
  if (urls.some((url) => url.protocol !== protocol))
    throw misused("nats-url", "takes either nats:// or tls:// for all servers", withoutSecrets(text));
  if (new Set(urls.map(({ host }) => host)).size < urls.length) throw misused("nats-url", "takes each server once", withoutSecrets(text));
  if (username === "" && password !== "") throw misused("nats-url", FORMS, withoutSecrets(text));
  if (credentialsFile !== undefined && username !== "")
    throw new UsageError(
      "Cannot run shoal start: --nats-credentials and a token or user in --nats-url exclude each other. See `shoal start --help`.",
    );
  if (caFile !== undefined && protocol !== "tls:") throw misused("nats-ca", "is for servers of tls://", caFile);
  if (credentialsFile !== undefined) readNatsCredentials(credentialsFile);
  return {
    kind: "runs",
    urls: urls.map(({ host }) => `nats://${host}`),
    ...loginOf(decodeURIComponent(username), decodeURIComponent(password)),
    credentialsFile,
    ...(protocol === "tls:" && { tls: { isAfterGreeting: true, ...(caFile !== undefined && { ca: readNatsAuthority(caFile) }) } }),
  };
}

/**
 * Refuses settings that would expose the cluster, as several heads keep its secrets in NATS.
 *
 * @throws UsageError
 */
export function refuseUnsafeNats({ urls, token, user, credentialsFile, tls }: OtherNats): void {
  const far = urls.find((url) => !isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, "")));
  if (far === undefined) return;
  const because = "with --ha it keeps the secrets of the cluster";
  if (token === undefined && user === undefined && credentialsFile === undefined)
    throw new UsageError(
      `Cannot run shoal start: anybody could read what is in the NATS at ${far}, and ${because}. Give its servers a token, users or credentials, and name them in --nats-url or --nats-credentials.`,
    );
  if (tls === undefined)
    throw new UsageError(
      `Cannot run shoal start: the way to the NATS at ${far} is not encrypted, and ${because}. Give its servers certificates, and write tls:// in --nats-url.`,
    );
}

function hasReadableLogin({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

function loginOf(username: string, password: string): { token?: string; user?: string; password?: string } {
  if (username === "") return {};
  return password === "" ? { token: username } : { user: username, password };
}

function withoutSecrets(text: string): string {
  return text.replace(/\/\/[^@/,]*@/g, "//***@");
}
