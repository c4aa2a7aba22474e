import { parse } from "yaml";
import { expect, test } from "vitest";
import { grafanaBoard, panelExpressions, prometheusConfiguration } from "./metric-files.ts";

test("the configuration of Prometheus asks the server for its targets, with the token's file", () => {
  const text = prometheusConfiguration({ url: "https://head:8265", tokenFile: '/etc/a "b".token' });
  const authorization = { type: "Bearer", credentials_file: '/etc/a "b".token' };
  expect(parse(text)).toEqual({
    global: { scrape_interval: "10s" },
    scrape_configs: [
      {
        job_name: "shoal",
        scheme: "https",
        authorization,
        http_sd_configs: [{ url: "https://head:8265/api/prometheus/sd", authorization }],
      },
    ],
  });
});

test("panels of the board stand side by side, each with a letter for each line", () => {
  const { panels } = JSON.parse(grafanaBoard()) as {
    panels: { id: number; gridPos: { x: number; y: number }; targets: { refId: string; expr: string }[] }[];
  };
  expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length);
  expect(panels.every(({ targets }) => targets.every(({ refId }, at) => refId === "ABC"[at]))).toBe(true);
  expect(panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))).toEqual(panelExpressions());
});
