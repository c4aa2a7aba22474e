/**
 * All routes of the HTTP server.
 *
 * The server matches requests with this table, and `/api/openapi.json` and docs/rest.md are made from it, so none of the three can differ.
 */
import { packageVersion } from "../../../runtime/os/own-files.ts";
import type { ClusterLink } from "../../connection/cluster-link.ts";
import type { Inspector } from "../../state/inspector.ts";
import type { LogReader } from "../../state/log-reader.ts";
import type { MetricReader } from "../../state/metric-reader.ts";
import type { OverviewReader } from "../../state/overview.ts";
import type { SeriesReader } from "../../state/series-reader.ts";
import type { StateReader } from "../../state/state-reader.ts";
import type { LoginCodes } from "../access/login-codes.ts";
import type { SessionKey } from "../access/session-cookie.ts";
import { jsonAnswer } from "../http-answers.ts";
import { openApiDocument } from "../open-api.ts";
import type { JobService } from "../job-service.ts";
import type { Route } from "../router.ts";
import type { PackageStore } from "../package-store.ts";
import { packageRoutes } from "./package-routes.ts";
import { jobRoutes } from "./job-routes.ts";
import { accessRoutes } from "./access-routes.ts";
import type { PageFiles } from "../page-files.ts";
import { clusterRoutes } from "./cluster-routes.ts";
import { inspectRoutes } from "./inspect-routes.ts";
import { pageRoutes } from "./page-routes.ts";
import { metricRoutes } from "./metric-routes.ts";
import { logRoutes } from "./log-routes.ts";
import { stateRoutes } from "./state-routes.ts";

interface RouteParts {
  readonly codes: LoginCodes;
  readonly session: SessionKey;
  readonly link: ClusterLink;
  readonly clusterName: string;
  readonly reader: StateReader;
  readonly logs: LogReader;
  readonly inspector: Inspector;
  readonly metrics: MetricReader;
  readonly series: SeriesReader;
  readonly overview: OverviewReader;
  readonly jobs: JobService;
  readonly packages: PackageStore;
  readonly page: PageFiles;
}

export function routeTable(parts: RouteParts): Route[] {
  return withOpenApi([
    ...pageRoutes(parts.page),
    ...accessRoutes(parts),
    ...clusterRoutes(parts),
    ...stateRoutes(parts.reader, parts.overview),
    ...logRoutes(parts.logs),
    ...inspectRoutes(parts.inspector),
    ...metricRoutes(parts.metrics, parts.series),
    ...jobRoutes(parts),
    ...packageRoutes(parts.packages),
  ]);
}

/** Adds the route that describes the others. */
export function withOpenApi(routes: readonly Route[]): Route[] {
  const table = Array.from(routes);
  table.push({
    method: "GET",
    path: "/api/openapi.json",
    role: "view",
    summary: "This list of routes, for programs.",
    answers: "An OpenAPI 3.1 document.",
    handle: () => jsonAnswer(openApiDocument(table, packageVersion())),
  });
  return table;
}
