/**
 * Options of `shoal start --head` for the HTTP server, and which of them go together.
 *
 * Plain HTTP is for this machine: at another host the server needs a certificate, or the word of the user that a proxy in front has one.
 */
import type { DashboardOptions } from "../../http/dashboard-process.ts";
import { readPrivateFile } from "../../../runtime/os/files/private-files.ts";
import { isLoopbackHost } from "../../../runtime/os/network/network-address.ts";
import { assertOwnHost } from "../../../runtime/os/network/reach.ts";
import { readUserFile } from "../../../runtime/os/packages/user-modules.ts";
import { type OptionSpecs, type OptionValues, UsageError } from "../command.ts";
import { misused, port } from "./node-options.ts";

export const DASHBOARD_OPTIONS = {
  "dashboard-host": { valueName: "ADDRESS", help: "where the dashboard and the REST interface listen (default: 127.0.0.1)" },
  "dashboard-port": { valueName: "PORT", help: "of the dashboard; 0 is any that is free (default: 8265, or a free one if that is taken)" },
  "no-dashboard": { help: "start no HTTP server" },
  "dashboard-cert": { valueName: "FILE", help: "its certificate as PEM, for hosts besides loopback" },
  "dashboard-key": { valueName: "FILE", help: "the key of the certificate as PEM, readable by this user alone" },
  "dashboard-plain-http": { help: "speak plain HTTP at such a host: a proxy in front speaks TLS" },
  "dashboard-allowed-host": { valueName: "NAME", isList: true, help: "a name under which browsers reach it; may be given several times" },
} as const satisfies OptionSpecs;

/** @throws UsageError for options that do not go together */
export async function dashboardOf(values: OptionValues<typeof DASHBOARD_OPTIONS>): Promise<DashboardOptions | undefined> {
  const { "dashboard-cert": certFile, "dashboard-key": keyFile, "dashboard-allowed-host": allowedHosts } = values;
  if (values["no-dashboard"]) {
    const given = (Object.keys(DASHBOARD_OPTIONS) as (keyof typeof DASHBOARD_OPTIONS)[]).find(
      (name) => name !== "no-dashboard" && values[name] !== undefined && values[name] !== false && (values[name] as string).length !== 0,
    );
    if (given !== undefined) throw wrong(`--no-dashboard and --${given} exclude each other`);
    return undefined;
  }
  const host = (values["dashboard-host"] ?? "127.0.0.1").replace(/^\[(.*)\]$/, "$1").replace(/^localhost$/i, "127.0.0.1");
  const isAnywhere = host === "0.0.0.0" || host === "::";
  if (!isAnywhere) await assertOwnHost(host, "--dashboard-host");
  if ((certFile === undefined) !== (keyFile === undefined)) throw wrong("--dashboard-cert and --dashboard-key belong together");
  if (!isLoopbackHost(host) && certFile === undefined && !values["dashboard-plain-http"])
    throw wrong(
      `--dashboard-host ${host} needs --dashboard-cert and --dashboard-key, as tokens would be readable on the way; behind a proxy that speaks TLS give --dashboard-plain-http`,
    );
  const bad = allowedHosts.find((name) => !/^[A-Za-z0-9._-]{1,253}$/.test(name));
  if (bad !== undefined) throw misused("dashboard-allowed-host", "takes a name without a port", bad);
  const wanted = values["dashboard-port"];
  return { host, port: wanted === undefined ? undefined : port(wanted, 0, "dashboard-port"), allowedHosts, tls: tlsOf(certFile, keyFile) };
}

/** @throws UsageError for a file that cannot be read, OpenSecretError for a key that others may read */
function tlsOf(certFile: string | undefined, keyFile: string | undefined): DashboardOptions["tls"] {
  if (certFile === undefined || keyFile === undefined) return undefined;
  const key = readPrivateFile(keyFile);
  if (key === undefined) throw misused("dashboard-key", "names no file", keyFile);
  return { cert: readUserFile("", certFile), key };
}

function wrong(problem: string): UsageError {
  return new UsageError(`Cannot run shoal start: ${problem}. See \`shoal start --help\`.`);
}
