/**
 * `shoal dashboard`, `get-auth-token` and `health-check`: the way to the HTTP server, for browsers, for other programs and for probes.
 *
 * A link carries a one-time code in its fragment, which no server and no log sees. `shoal dashboard --from` is itself the server, over the
 * history of a cluster that may have ended.
 */
import type { Terminal } from "../../../runtime/os/terminal.ts";
import { askHttp, httpPlaceOf } from "../../connection/http-place.ts";
import { type Command, defineCommand, EXIT, UsageError } from "../command.ts";
import { FROM } from "../state/state-source.ts";

const ADDRESS = {
  short: "a",
  valueName: "ADDRESS",
  help: "http://HOST:PORT of the dashboard, or HOST:PORT of a head of this machine",
} as const;

const dashboardCommand: Command = defineCommand({
  name: "dashboard",
  summary: "print a link that opens the dashboard in a browser",
  description: `The link logs one browser in and is good for a minute:

  shoal dashboard                            the cluster whose head is on this machine
  SHOAL_AUTH_TOKEN=... shoal dashboard --address https://cluster.example
  shoal dashboard --from FOLDER              the history of a run; stays until Ctrl-C`,
  options: {
    address: ADDRESS,
    from: FROM,
    port: { valueName: "PORT", help: "with --from: where to listen on this machine; 0 is any that is free (default: 0)" },
    json: { help: "print { url, link } as JSON, or { url, token } with --from" },
  },
  run: async ({ options, terminal }) => {
    if (options.from.length > 0) return await showHistory(options, terminal);
    if (options.port !== undefined)
      throw new UsageError("Cannot run shoal dashboard: --port belongs to --from. See `shoal dashboard --help`.");
    const place = httpPlaceOf(terminal.environment, options.address);
    const { code } = (await askHttp(place, "POST", "/api/shoal/login_codes")) as { code: string };
    const link = `${place.url}/ui/login#code=${code}`;
    terminal.print(options.json ? JSON.stringify({ url: place.url, link }) : link);
  },
});

/** Serves until a signal ends the process. */
async function showHistory(
  { from, port: wanted, address, json }: { from: readonly string[]; port: string | undefined; address: string | undefined; json: boolean },
  terminal: Terminal,
): Promise<void> {
  if (address !== undefined) throw new UsageError("Cannot run shoal dashboard: --from and --address exclude each other.");
  const { serveHistory } = await import("../../http/history-dashboard.ts");
  const { url, token, link, close } = await serveHistory(from, portOf(wanted));
  terminal.print(json ? JSON.stringify({ url, token }) : link);
  if (!json) terminal.tell("shoal: the history is open until Ctrl-C.");
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
  close();
}

/** @throws UsageError */
function portOf(text = "0"): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`Cannot run shoal dashboard: --port takes a number from 0 to 65535: received ${text}.`);
}

const tokenCommand: Command = defineCommand({
  name: "get-auth-token",
  summary: "print the token of the dashboard and the REST interface",
  description: `Prints the token of the cluster whose head is on this machine, for its owner alone:

  curl -H "authorization: Bearer $(shoal get-auth-token)" http://127.0.0.1:8265/api/version`,
  options: { address: ADDRESS, json: { help: "print { url, token } as JSON" } },
  run: ({ options, terminal }) => {
    const place = httpPlaceOf(terminal.environment, options.address);
    terminal.print(options.json ? JSON.stringify(place) : place.token);
    return Promise.resolve();
  },
});

const healthCommand: Command = defineCommand({
  name: "health-check",
  summary: "exit with 0 if the head and its node answer",
  description: `For probes, which need no output:

  shoal health-check || echo "the cluster is away"`,
  options: { address: ADDRESS, json: { help: "print { healthy, message } as JSON" } },
  run: async ({ options, terminal }) => {
    const found = await askHttp(httpPlaceOf(terminal.environment, options.address), "GET", "/api/gcs_healthz").then(
      () => ({ healthy: true, message: "the head answers" }),
      (error: Error) => ({ healthy: false, message: error.message }),
    );
    if (options.json) terminal.print(JSON.stringify(found));
    else if (!found.healthy) terminal.tell(`shoal: ${found.message}`);
    return found.healthy ? EXIT.SUCCESS : EXIT.FAILURE;
  },
});

export const dashboardCommands: readonly Command[] = [dashboardCommand, tokenCommand, healthCommand];
