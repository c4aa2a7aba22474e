/**
 * `shoal metrics prometheus` and `shoal metrics grafana`: print the files with which others scrape and show a cluster.
 *
 * The commands print to standard output alone and write no file, so a pipe or `>` decides where a file goes. No token is printed: the
 * configuration names a file that holds one.
 */
import { httpPlaceOf } from "../../connection/http-place.ts";
import { ADDRESS, type Command, defineCommand } from "../command.ts";

const prometheusCommand: Command = defineCommand({
  name: "metrics prometheus",
  summary: "print a configuration with which Prometheus scrapes this cluster",
  description: `Prints a prometheus.yml for the cluster's server. Prometheus shows a token of the role view, which it reads from a file.

Example: shoal token create --for http --role view > shoal.token
         shoal metrics prometheus --credentials-file $PWD/shoal.token > prometheus.yml`,
  options: {
    "credentials-file": { valueName: "FILE", help: "with the token (default: /etc/prometheus/shoal.token)" },
    address: ADDRESS,
  },
  run: async ({ options, terminal }) => {
    const { prometheusConfiguration } = await import("./metric-files.ts");
    const { url } = httpPlaceOf(terminal.environment, options.address);
    const tokenFile = options["credentials-file"] ?? "/etc/prometheus/shoal.token";
    terminal.print(prometheusConfiguration({ url, tokenFile }).trimEnd());
  },
});

const grafanaCommand: Command = defineCommand({
  name: "metrics grafana",
  summary: "print a board for Grafana",
  description: `Prints a board as JSON, which Grafana imports (Dashboards, New, Import). Its panels show the metrics of Shoal in a Prometheus.

Example: shoal metrics grafana > shoal.json`,
  options: {},
  run: async ({ terminal }) => {
    const { grafanaBoard } = await import("./metric-files.ts");
    terminal.print(grafanaBoard());
  },
});

export const metricsCommands: readonly Command[] = [prometheusCommand, grafanaCommand];
