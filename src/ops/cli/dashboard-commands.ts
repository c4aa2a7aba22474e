/**
 * `shoal dashboard`, `get-auth-token` and `health-check`: the way to the HTTP server, for browsers, for other programs and for probes.
 *
 * A link carries a one-time code in its fragment, which no server and no log sees.
 */
import { askHttp, httpPlaceOf } from "./dashboard-client.ts";
import { type Command, defineCommand, EXIT } from "./command.ts";

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
  SHOAL_AUTH_TOKEN=... shoal dashboard --address https://cluster.example`,
  options: { address: ADDRESS, json: { help: "print { url, link } as JSON" } },
  run: async ({ options, terminal }) => {
    const place = httpPlaceOf(terminal, options.address);
    const { code } = (await askHttp(place, "POST", "/api/shoal/login_codes")) as { code: string };
    const link = `${place.url}/ui/login#code=${code}`;
    terminal.print(options.json ? JSON.stringify({ url: place.url, link }) : link);
  },
});

const tokenCommand: Command = defineCommand({
  name: "get-auth-token",
  summary: "print the token of the dashboard and the REST interface",
  description: `Prints the token of the cluster whose head is on this machine, for its owner alone:

  curl -H "authorization: Bearer $(shoal get-auth-token)" http://127.0.0.1:8265/api/version`,
  options: { address: ADDRESS, json: { help: "print { url, token } as JSON" } },
  run: ({ options, terminal }) => {
    const place = httpPlaceOf(terminal, options.address);
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
    const found = await askHttp(httpPlaceOf(terminal, options.address), "GET", "/api/gcs_healthz").then(
      () => ({ healthy: true, message: "the head answers" }),
      (error: Error) => ({ healthy: false, message: error.message }),
    );
    if (options.json) terminal.print(JSON.stringify(found));
    else if (!found.healthy) terminal.tell(`shoal: ${found.message}`);
    return found.healthy ? EXIT.SUCCESS : EXIT.FAILURE;
  },
});

export const dashboardCommands: readonly Command[] = [dashboardCommand, tokenCommand, healthCommand];
