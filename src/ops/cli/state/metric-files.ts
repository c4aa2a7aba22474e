/**
 * Files for the monitoring of others: the configuration of a Prometheus, and a board of Grafana.
 *
 * Both name metrics of the page `/metrics`. The board has the panels that the dashboard draws as charts, and some more. Texts that a user
 * gives are quoted, so a path with any character stays one value. Pure; printed by `metrics-commands.ts`.
 */

interface Panel {
  readonly title: string;
  /** Grafana's name of the unit. */
  readonly unit: string;
  readonly lines: readonly (readonly [title: string, expression: string])[];
}

const PANELS: readonly Panel[] = [
  {
    title: "Processors in use",
    unit: "percent",
    lines: [["{{node_id}}", "shoal_node_cpu_utilization"]],
  },
  {
    title: "Memory",
    unit: "bytes",
    lines: [
      ["in use {{node_id}}", "shoal_node_mem_used"],
      ["all {{node_id}}", "shoal_node_mem_total"],
    ],
  },
  {
    title: "Ended calls",
    unit: "ops",
    lines: [
      ["finished", 'sum(deriv(shoal_tasks{State="FINISHED"}[1m]))'],
      ["failed", 'sum(deriv(shoal_tasks{State="FAILED"}[1m]))'],
    ],
  },
  {
    title: "Calls that run or wait",
    unit: "short",
    lines: [["{{State}}", 'sum by (State) (shoal_tasks{State!~"FINISHED|FAILED"})']],
  },
  { title: "Actors", unit: "short", lines: [["{{State}}", "sum by (State) (shoal_actors)"]] },
  { title: "Resources in use", unit: "short", lines: [["{{Name}}", 'shoal_resources{State="USED",Name!~"memory|object_store_memory"}']] },
  { title: "Object store", unit: "bytes", lines: [["{{Location}}", "sum by (Location) (shoal_object_store_memory)"]] },
  {
    title: "Network",
    unit: "Bps",
    lines: [
      ["received {{node_id}}", "shoal_node_network_receive_speed"],
      ["sent {{node_id}}", "shoal_node_network_send_speed"],
    ],
  },
  { title: "Disk in use", unit: "bytes", lines: [["{{node_id}}", "shoal_node_disk_usage"]] },
  { title: "Nodes", unit: "short", lines: [["nodes", "shoal_cluster_nodes"]] },
];

const PANEL = { width: 12, height: 8 };
/** Grafana's number of the board format. Grafana converts older boards. */
const SCHEMA_VERSION = 39;

/** Returns a board of Grafana as JSON, for any Prometheus as its source. */
export function grafanaBoard(): string {
  const panels = PANELS.map(({ title, unit, lines }, at) => ({
    id: at + 1,
    type: "timeseries",
    title,
    datasource: { type: "prometheus", uid: "${source}" },
    gridPos: { x: (at % 2) * PANEL.width, y: Math.floor(at / 2) * PANEL.height, w: PANEL.width, h: PANEL.height },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: lines.map(([legendFormat, expr], index) => ({ refId: String.fromCharCode("A".charCodeAt(0) + index), expr, legendFormat })),
  }));
  const source = { name: "source", type: "datasource", query: "prometheus", label: "Prometheus" };
  const board = {
    uid: "shoal",
    title: "Shoal",
    tags: ["shoal"],
    schemaVersion: SCHEMA_VERSION,
    time: { from: "now-1h", to: "now" },
    refresh: "10s",
    templating: { list: [source] },
    panels,
  };
  return JSON.stringify(board, undefined, 2);
}

/** Returns the expressions of all panels. */
export function panelExpressions(): string[] {
  return PANELS.flatMap(({ lines }) => lines.map(([, expression]) => expression));
}

/** Returns `prometheus.yml` for the server at that address, with the token in a file. */
export function prometheusConfiguration({ url, tokenFile }: { url: string; tokenFile: string }): string {
  // JSON is YAML; a path may have any character.
  const authorization = `{ type: Bearer, credentials_file: ${JSON.stringify(tokenFile)} }`;
  return `# Made by \`shoal metrics prometheus\`. The token: shoal token create --for http --role view > ${JSON.stringify(tokenFile)}
global:
  scrape_interval: 10s
scrape_configs:
  - job_name: shoal
    scheme: ${new URL(url).protocol.slice(0, -1)}
    authorization: ${authorization}
    http_sd_configs:
      - url: ${JSON.stringify(`${url}/api/prometheus/sd`)}
        authorization: ${authorization}
`;
}
