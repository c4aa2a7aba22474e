/**
 * The dashboard of a history: the same server and page as beside a head, over folders, on this machine's loopback alone.
 *
 * The token is made at the start and is good for this process. What would change a cluster is refused with 405, as there is none.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { ShoalError } from "../../runtime/base/errors.ts";
import { pageFolder } from "../../runtime/os/own-files.ts";
import { HistoryCluster } from "../state/history-cluster.ts";
import { HistoryReader } from "../state/history-reader.ts";
import { LogReader } from "../state/log-reader.ts";
import { OverviewReader } from "../state/overview.ts";
import { UnchangedAnswers } from "../state/unchanged-answers.ts";
import { HttpTokens } from "./access/http-token-check.ts";
import { LoginCodes } from "./access/login-codes.ts";
import { HttpServer } from "./http-server.ts";
import { PageFiles } from "./page-files.ts";
import { Router } from "./router.ts";
import { accessRoutes } from "./routes/access-routes.ts";
import { clusterRoutes } from "./routes/cluster-routes.ts";
import { logRoutes } from "./routes/log-routes.ts";
import { pageRoutes } from "./routes/page-routes.ts";
import { withOpenApi } from "./routes/route-table.ts";
import { stateRoutes } from "./routes/state-routes.ts";

const HOST = "127.0.0.1";

interface HistoryDashboard {
  readonly url: string;
  readonly token: string;
  /** Logs one browser in, within a minute. */
  readonly link: string;
  close(): void;
}

/**
 * @param folders - folders of runs of one cluster, or the folders `history` in them
 * @param port - 0: any that is free
 * @throws ShoalError for a folder without a history, or a port that is taken
 */
export async function serveHistory(folders: readonly string[], port: number): Promise<HistoryDashboard> {
  const reader = new UnchangedAnswers(new HistoryReader(...folders));
  const cluster = new HistoryCluster(folders, reader);
  const token = randomBytes(32).toString("hex");
  const codes = new LoginCodes(() => performance.now());
  const overview = new OverviewReader({ ask: cluster.ask, state: reader, metrics: { ofNode: () => Promise.resolve([]) } });
  const routes = withOpenApi([
    ...pageRoutes(new PageFiles(pageFolder())),
    ...accessRoutes({ codes, session: { clusterToken: token, isTls: false }, link: cluster }),
    ...clusterRoutes({ link: cluster, clusterName: "history" }),
    ...stateRoutes(reader, overview),
    ...logRoutes(new LogReader(cluster.request, reader)),
  ]);
  const server = new HttpServer({
    router: new Router(routes),
    tokens: new HttpTokens(token, undefined),
    clusterToken: token,
    names: { host: HOST, isTls: false, allowedHosts: [], machineHosts: [hostname()] },
    tls: undefined,
    isReadOnly: true,
  });
  const url = `http://${HOST}:${await listen(server, port)}`;
  return { url, token, link: `${url}/ui/login#code=${codes.create()}`, close: () => server.close() };
}

async function listen(server: HttpServer, port: number): Promise<number> {
  try {
    return await server.listen(HOST, port);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "EADDRINUSE" ? "another program listens there" : message;
    throw new ShoalError(`Cannot open the history at ${HOST}:${port}: ${reason}.`, {
      reason,
      hint: "Give another --port; 0 is any that is free.",
      cause: error,
    });
  }
}
