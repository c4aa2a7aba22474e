/**
 * Routes for Prometheus: the metrics as text, and the list of what to scrape.
 *
 * A small cluster is one page, with its nodes. A large one is a page for the cluster and one for each node, which the list names. Scrapers
 * show a token of the role view.
 */
import { USAGE_EVERY_MS } from "../../../runtime/observe/limits.ts";
import { PROMETHEUS_TYPE, prometheusText } from "../../../runtime/observe/prometheus-text.ts";
import type { ProcessMetrics } from "../../../runtime/wire/observing/metric-messages.ts";
import type { MetricReader } from "../../state/metric-reader.ts";
import type { SeriesReader } from "../../state/series-reader.ts";
import { HttpError, type HttpAnswer, jsonAnswer } from "../http-answers.ts";
import { NODES_OF_ONE_PAGE_MAX, SERIES_NAMES_ASKED_MAX, SERIES_SINCE_DEFAULT_MS } from "../limits.ts";
import type { Route } from "../router.ts";

const PREFIX = "shoal_";
const TEXT = "Prometheus' text, version 0.0.4. Shoal's metrics begin with `shoal_`; users' names are as given.";

export function metricRoutes(metrics: MetricReader, series: SeriesReader): Route[] {
  return [
    {
      method: "GET",
      path: "/metrics",
      role: "view",
      summary: "The metrics of the cluster, with those of its nodes where it has at most 50.",
      answers: TEXT,
      isQuery: true,
      handle: async () => {
        const isSmall = (await metrics.nodes()).length <= NODES_OF_ONE_PAGE_MAX;
        return textOf((await Promise.all([metrics.ofCluster(), isSmall ? metrics.ofAllNodes() : []])).flat());
      },
    },
    {
      method: "GET",
      path: "/metrics/nodes/{id}",
      role: "view",
      summary: "The metrics of one node.",
      answers: `${TEXT} An unknown or dead node is a 404.`,
      isQuery: true,
      handle: async ({ params: { id = "" } }) => {
        if (!(await metrics.nodes()).includes(id))
          throw new HttpError(404, `Cannot read metrics: no living node has the id ${JSON.stringify(id.slice(0, 100))}`);
        return textOf(await metrics.ofNode(id));
      },
    },
    {
      method: "GET",
      path: "/api/shoal/series",
      role: "view",
      summary: "Numbers over time, for charts: an hour by five seconds, a day by minutes.",
      query: {
        names: `Names with commas between them: ${SERIES_NAMES.join(", ")}.`,
        node_id: "Only of this node. Default: sums over all nodes.",
        since_ms: "Start, in milliseconds since 1970 (default: an hour ago).",
        step_ms: "Time between two points, in milliseconds (default: 5000).",
      },
      answers:
        "`t` with the starts of the steps, and `series` with `name`, `labels` and `v`: a value for each time, null where no node measured. `warnings` names nodes without an answer. A node that started again begins anew.",
      isQuery: true,
      handle: async ({ query }) => jsonAnswer(await series.read(seriesQueryOf(query), Date.now())),
    },
    {
      method: "GET",
      path: "/api/prometheus/sd",
      role: "view",
      summary: "What Prometheus scrapes, for its `http_sd_configs`.",
      answers: "A list of `targets` and `labels`; `__metrics_path__` is the page. Above 50 nodes there is a page for each.",
      isQuery: true,
      handle: async ({ host }) => {
        const nodes = await metrics.nodes();
        const target = (path: string, labels: object): object => ({
          targets: [host],
          labels: { __metrics_path__: path, job: "shoal", ...labels },
        });
        const ofNodes = nodes.length <= NODES_OF_ONE_PAGE_MAX ? [] : nodes.map((id) => target(`/metrics/nodes/${id}`, { node_id: id }));
        return jsonAnswer([target("/metrics", {}), ...ofNodes]);
      },
    },
  ];
}

/** Numbers that nodes note. Rates are a second, sizes are bytes, and processors are counted in cores. */
const SERIES_NAMES = [
  "node_cpu_used",
  "node_cpu_count",
  "node_mem_used",
  "node_mem_total",
  "node_disk_usage",
  "node_disk_free",
  "node_network_receive_speed",
  "node_network_send_speed",
  "object_store_used",
  "object_store_spilled",
  "tasks_running",
  "tasks_finished_per_second",
  "tasks_failed_per_second",
] as const;

/** @throws HttpError 400 for an unknown name or a wrong number */
function seriesQueryOf(query: URLSearchParams): Parameters<SeriesReader["read"]>[0] {
  const given = query.get("names") ?? "";
  const names = given === "" ? [...SERIES_NAMES] : given.split(",", SERIES_NAMES_ASKED_MAX);
  const unknown = names.find((name) => !SERIES_NAMES.some((known) => known === name));
  if (unknown !== undefined)
    throw new HttpError(
      400,
      `Cannot read series: there is no series ${JSON.stringify(unknown.slice(0, 100))}; there are ${SERIES_NAMES.join(", ")}`,
    );
  const nodeId = query.get("node_id") ?? "";
  return {
    names,
    nodeId: nodeId === "" ? undefined : nodeId,
    sinceMs: numberOf(query, "since_ms", Date.now() - SERIES_SINCE_DEFAULT_MS),
    stepMs: numberOf(query, "step_ms", USAGE_EVERY_MS),
  };
}

function numberOf(query: URLSearchParams, name: string, normal: number): number {
  const text = query.get(name) ?? "";
  const number = text === "" ? normal : Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new HttpError(400, `Cannot read series: ${name} takes a number above 0: received ${JSON.stringify(text.slice(0, 100))}`);
}

function textOf(processes: readonly ProcessMetrics[]): HttpAnswer {
  return {
    status: 200,
    body: prometheusText(processes, ({ name, isSystem }) => (isSystem === true ? `${PREFIX}${name}` : name)),
    type: PROMETHEUS_TYPE,
  };
}
