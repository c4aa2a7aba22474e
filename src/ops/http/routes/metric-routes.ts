/**
 * Routes for Prometheus: the metrics as text, and the list of what to scrape.
 *
 * A small cluster is one page, with its nodes. A large one is a page for the cluster and one for each node, which the list names. Scrapers
 * show a token of the role view.
 */
import { PROMETHEUS_TYPE, prometheusText } from "../../../runtime/observe/prometheus-text.ts";
import type { ProcessMetrics } from "../../../runtime/wire/observing/metric-messages.ts";
import type { MetricReader } from "../../state/metric-reader.ts";
import { HttpError, type HttpAnswer, jsonAnswer } from "../http-answers.ts";
import { NODES_OF_ONE_PAGE_MAX } from "../limits.ts";
import type { Route } from "../router.ts";

const PREFIX = "shoal_";
const TEXT = "Prometheus' text, version 0.0.4. Shoal's metrics begin with `shoal_`; users' names are as given.";

export function metricRoutes(metrics: MetricReader): Route[] {
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

function textOf(processes: readonly ProcessMetrics[]): HttpAnswer {
  return {
    status: 200,
    body: prometheusText(processes, ({ name, isSystem }) => (isSystem === true ? `${PREFIX}${name}` : name)),
    type: PROMETHEUS_TYPE,
  };
}
