/**
 * The process of the cluster's HTTP server: `shoal dashboard` beside a head, a child of the supervisor.
 *
 * Wires the token, the connection to the cluster, the routes and the server together, and reports where it listens. It keeps no state of
 * the cluster, so the supervisor may start another one at the same port at any time.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { ShoalError } from "../../runtime/base/errors.ts";
import { formatAddress, formatNetworkAddress } from "../../runtime/os/network/network-address.ts";
import { ownAddresses } from "../../runtime/os/network/reach.ts";
import { pageFolder } from "../../runtime/os/own-files.ts";
import { tellingStartFailures } from "../../runtime/os/processes/start-failure.ts";
import { readParentLine } from "../../runtime/os/processes/worker-process.ts";
import { ClusterLink } from "../connection/cluster-link.ts";
import { Inspector } from "../state/inspector.ts";
import { LiveReader } from "../state/live-reader.ts";
import { MetricReader } from "../state/metric-reader.ts";
import { SeriesReader } from "../state/series-reader.ts";
import { OverviewReader } from "../state/overview.ts";
import { LogReader } from "../state/log-reader.ts";
import { clusterToken, HttpTokens } from "./access/http-token-check.ts";
import { LoginCodes } from "./access/login-codes.ts";
import { HttpServer } from "./http-server.ts";
import { PackageStore } from "./package-store.ts";
import { JobService } from "./job-service.ts";
import { DASHBOARD_PORT } from "./limits.ts";
import { PageFiles } from "./page-files.ts";
import { Router } from "./router.ts";
import { routeTable } from "./routes/route-table.ts";

export interface DashboardOptions {
  readonly host: string;
  /** Undefined: 8265, or a free one where that is taken. */
  readonly port: number | undefined;
  readonly allowedHosts: readonly string[];
  /** PEM texts; undefined for plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

export interface DashboardConfiguration extends DashboardOptions {
  readonly clusterName: string;
  /** Address of the head. */
  readonly headAddress: string;
  /** The head's folder, where the token lies. */
  readonly directory: string;
  /** Whether other heads have a server, too: all take the same token. */
  readonly hasRivals: boolean;
}

/** Report to the supervisor, as JSON. */
export interface DashboardStart {
  readonly url: string;
  readonly port: number;
  /** The default port was taken. */
  readonly isMoved: boolean;
}

const { configuration, send } = await readParentLine<DashboardConfiguration>(() => process.exit(0));
process.title = "shoal dashboard";
const started = tellingStartFailures(send);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(0));
const { host, allowedHosts, tls, clusterName, headAddress, directory, hasRivals } = configuration;
const link = new ClusterLink(headAddress);
const token = await clusterToken(directory, hasRivals ? link : undefined);
const reader = new LiveReader((type, header, options) => link.ask(type, header, options));
const metrics = new MetricReader((type, header, options) => link.ask(type, header, options), reader);
const session = { clusterToken: token, isTls: tls !== undefined };
const routes = routeTable({
  codes: new LoginCodes(() => performance.now()),
  session,
  link,
  clusterName,
  reader,
  metrics,
  series: new SeriesReader((type, header, options) => link.ask(type, header, options)),
  overview: new OverviewReader({ ask: (type, header, options) => link.ask(type, header, options), state: reader, metrics }),
  jobs: new JobService(link, headAddress),
  packages: new PackageStore(join(directory, "packages")),
  logs: new LogReader((type, header, options) => link.request(type, header, options), reader),
  inspector: new Inspector((type, header, options) => link.request(type, header, options), reader),
  page: new PageFiles(pageFolder()),
});
const server = new HttpServer({
  router: new Router(routes),
  tokens: new HttpTokens(token, link),
  clusterToken: token,
  names: { host, isTls: tls !== undefined, allowedHosts, machineHosts: [hostname(), ...ownAddresses()] },
  tls,
});
const { port, isMoved } = await listen(configuration.port);
const url = `${tls === undefined ? "http" : "https"}://${formatAddress(formatNetworkAddress({ host, port }))}`;
started(JSON.stringify({ url, port, isMoved } satisfies DashboardStart));

async function listen(wanted: number | undefined): Promise<{ port: number; isMoved: boolean }> {
  try {
    return { port: await server.listen(host, wanted ?? DASHBOARD_PORT), isMoved: false };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (wanted === undefined && code === "EADDRINUSE") return { port: await server.listen(host, 0), isMoved: true };
    const reason = code === "EADDRINUSE" ? "another program listens there" : (error as Error).message;
    throw new ShoalError(
      `Cannot start the dashboard at ${formatAddress(formatNetworkAddress({ host, port: wanted ?? DASHBOARD_PORT }))}: ${reason}.`,
      {
        reason,
        hint: "Give another --dashboard-port (0 is any that is free), or --no-dashboard.",
        cause: error,
      },
    );
  }
}
