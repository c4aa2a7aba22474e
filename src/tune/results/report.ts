/**
 * The report of an experiment: one HTML file without scripts and without a network, for any browser and for mail.
 *
 * Shows the best trials, parallel coordinates, learning curves and the importance of parameters. Everything that users named or reported is escaped. Learning curves are read from the
 * files of the best trials alone.
 */
import { metricAt } from "../../runs/checkpoints/kept-checkpoints.ts";
import { flatMetrics } from "../../runs/metrics/metrics.ts";
import { durationText, valueText } from "../../runs/metrics/progress-lines.ts";
import { Result } from "../../runs/result.ts";
import { writeWhole } from "../../storage/listing/folders.ts";
import { joinPath } from "../../storage/paths.ts";
import { resolveFolder } from "../../storage/places.ts";
import { ConfigCodec } from "../spaces/config-codec.ts";
import { importanceOf, type ImportanceRow } from "./importance.ts";
import { REPORT_CURVE_POINTS, REPORT_CURVES, REPORT_LINES, REPORT_METRICS, REPORT_ROWS } from "../limits.ts";
import { type KnownTrial, resultOf } from "../trials/live-trial.ts";
import type { JsonValue, Metrics, Mode } from "../trials/trial.ts";

interface ReportFacts {
  readonly trials: readonly KnownTrial[];
  /** The run's folder. */
  readonly folder: string;
  readonly metrics: readonly string[];
  readonly modes: readonly Mode[];
}

/** A trial with a value of the metric. */
interface Ranked {
  readonly trial: KnownTrial;
  readonly value: number;
  readonly parameters: ReadonlyMap<string, number | string>;
}

/** A line of the learning curves: iterations and values. */
interface Curve {
  readonly label: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** @throws StorageError where the file cannot be written */
export async function writeHtmlReport(path: string, facts: ReportFacts): Promise<void> {
  const [metric] = facts.metrics;
  const curves = metric === undefined ? [] : await curvesOf(rankedTrials(facts).slice(0, REPORT_CURVES), { folder: facts.folder, metric });
  await writeWhole(await resolveFolder(path), htmlReport(facts, curves));
}

/** The report as a text. Pure. */
export function htmlReport(facts: ReportFacts, curves: readonly Curve[]): string {
  const { trials, folder, metrics, modes } = facts;
  const [metric = ""] = metrics;
  const ranked = rankedTrials(facts);
  const name = folder.slice(folder.lastIndexOf("/") + 1);
  const errored = trials.filter(({ status }) => status === "errored").length;
  const hasLines = ranked.length > 1 && varying(ranked).length > 0;
  const sections = [
    `<h1>${escape(name)}</h1>`,
    `<p class="facts">${countOf(trials.length)}, ${errored} failed${metric === "" ? "" : `; the ${modes[0] === "max" ? "highest" : "lowest"} <b>${escape(metric)}</b> is the best`}</p>`,
    trialTable(ranked, facts),
    ...(ranked.length === 0
      ? []
      : [
          ...(hasLines
            ? [
                section(
                  "Parallel coordinates",
                  "A line is a trial; the bluest lines are the best ones.",
                  parallelCoordinates(ranked, metric),
                ),
              ]
            : []),
          ...(curves.length === 0
            ? []
            : [
                section(
                  "Learning curves",
                  `${metric} over iterations, of the best ${curves.length === 1 ? "trial" : countOf(curves.length)}.`,
                  learningCurves(curves),
                ),
              ]),
          section("Importance", "The part of the differences between trials that a parameter alone explains.", importanceBars(ranked)),
        ]),
    failures(trials),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escape(name)}</title><style>${STYLE}</style></head>
<body>
${sections.join("\n")}
</body></html>
`;
}

const STYLE = `
body{font:14px/1.5 system-ui,sans-serif;max-width:1080px;margin:2rem auto;padding:0 1rem;color:#1c2430;background:#fff}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 0}.facts,.hint{color:#5b6675;margin:.2rem 0 1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.25rem .8rem;text-align:left;white-space:nowrap;border-bottom:1px solid #e4e8ee}
th{color:#5b6675;font-weight:600}tr.best td{background:#eef6ff;font-weight:600}.wide{overflow-x:auto}
svg{display:block;width:100%;min-width:720px;height:auto}svg text{font:11px system-ui,sans-serif;fill:#5b6675;paint-order:stroke;stroke:#fff;stroke-width:3px}
.axis{stroke:#b6bfca}.line{fill:none;stroke-width:1.4}.bar,.dot{fill:#2f6fde}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#fbf1f0;padding:.6rem}
@media (prefers-color-scheme:dark){body{background:#151a21;color:#e3e8ef}th,td{border-color:#2b333f}tr.best td{background:#1b2b42}pre{background:#2c1c1b}svg text,.facts,.hint,th{color:#9aa6b5;fill:#9aa6b5}svg text{stroke:#151a21}.line,.dot{stroke:color-mix(in srgb,#3d4754 calc(100%*var(--rank)),#6ea8ff)}.dot{fill:#6ea8ff}.axis{stroke:#556170}}
`;

function section(title: string, hint: string, body: string): string {
  return `<h2>${escape(title)}</h2><p class="hint">${escape(hint)}</p><div class="wide">${body}</div>`;
}

function countOf(trials: number): string {
  return `${trials} ${trials === 1 ? "trial" : "trials"}`;
}

/** Trials with a finite value, the best first. */
function rankedTrials({ trials, metrics, modes }: ReportFacts): Ranked[] {
  const [metric] = metrics;
  const sign = modes[0] === "max" ? -1 : 1;
  const ranked = trials.flatMap((trial): Ranked[] => {
    const value = metric === undefined ? undefined : metricOf(trial, metric);
    if (typeof value !== "number" || !Number.isFinite(value)) return [];
    return [{ trial, value, parameters: parametersOf(trial) }];
  });
  return ranked.sort((a, b) => sign * (a.value - b.value));
}

function metricOf(trial: KnownTrial, name: string): JsonValue | undefined {
  const result = resultOf(trial);
  return result && metricAt(result as unknown as Metrics, name);
}

/** Whole texts: two that begin alike are two options. */
function parametersOf({ config }: KnownTrial): Map<string, number | string> {
  const flat = flatMetrics(ConfigCodec.shown(config));
  return new Map(
    Array.from(flat, ([name, part]) => [name, typeof part === "number" || typeof part === "string" ? part : JSON.stringify(part)]),
  );
}

/** Parameters that differ between trials. */
function varying(ranked: readonly Ranked[]): string[] {
  const names = [...new Set(ranked.flatMap(({ parameters }) => [...parameters.keys()]))];
  return names.filter((name) => new Set(ranked.map(({ parameters }) => parameters.get(name))).size > 1);
}

/** The best trials, and behind them those that have no value to be compared by. */
function trialTable(ranked: readonly Ranked[], { trials, metrics }: ReportFacts): string {
  const known = new Set(ranked.map(({ trial }) => trial));
  const shown = [...ranked.map(({ trial }) => trial), ...trials.filter((trial) => !known.has(trial))].slice(0, REPORT_ROWS);
  const parameters = shown.map(parametersOf);
  const reported = shown.flatMap((trial) => [...flatMetrics(trial.metrics ?? {}).keys()]);
  const columns = metrics.length > 0 ? metrics : [...new Set(reported)].slice(0, REPORT_METRICS);
  const names = [...new Set(parameters.flatMap((own) => [...own.keys()]))];
  const hasStatus = shown.some(({ status }) => status !== "terminated");
  const head = ["trial", ...(hasStatus ? ["status"] : []), ...columns, ...names, "iterations", "time"];
  const rows = shown.map((trial, i) => {
    const cells = [
      trial.id,
      ...(hasStatus ? [trial.status] : []),
      ...columns.map((name) => valueText(metricOf(trial, name))),
      ...names.map((name) => valueText(parameters[i]?.get(name))),
      String(trial.iteration),
      durationText(trial.timeTotalMs),
    ];
    return `<tr${i === 0 && ranked.length > 0 ? ' class="best"' : ""}>${cells.map((cell) => `<td>${escape(cell)}</td>`).join("")}</tr>`;
  });
  const hint =
    shown.length === trials.length ? "" : `The first ${shown.length} of ${trials.length}${ranked.length > 0 ? ", the best first" : ""}.`;
  return section("Trials", hint, `<table><tr>${head.map((cell) => `<th>${escape(cell)}</th>`).join("")}</tr>${rows.join("")}</table>`);
}

const WIDTH = 1040;

/** On an axis, below its lowest value: a parameter that the trial does not have. */
const NONE_AT = -0.09;

/** An axis of parallel coordinates: where a value stands, from 0 to 1, and the texts at its ends or options. */
interface Scale {
  readonly name: string;
  place(value: number | string | undefined): number;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

function scaleOf(name: string, values: readonly (number | string | undefined)[]): Scale {
  const texts = values.filter((value) => typeof value === "string");
  if (texts.length > 0) {
    const options = [...new Set(values.filter((value) => value !== undefined).map(String))].sort();
    const at = (text: string): number => (options.length === 1 ? 0.5 : options.indexOf(text) / (options.length - 1));
    const ticks = options.slice(0, 12).map((text) => ({ at: at(text), text }));
    return { name, place: (value) => (value === undefined ? NONE_AT : at(String(value))), ticks: withNone(ticks, values) };
  }
  const numbers = values.filter((value) => typeof value === "number");
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  // Values over several powers of ten are of a logarithmic domain, most likely.
  const isLog = low > 0 && high / low >= 100;
  const scaled = (value: number): number => (isLog ? Math.log(value) : value);
  const span = scaled(high) - scaled(low);
  const place = (value: number | string | undefined): number =>
    typeof value !== "number" ? NONE_AT : span === 0 ? 0.5 : (scaled(value) - scaled(low)) / span;
  const between = isLog ? Math.sqrt(low * high) : (low + high) / 2;
  const middle = numbers.every(Number.isInteger) ? Math.round(between) : between;
  const ticks = [low, middle, high].map((value) => ({ at: place(value), text: valueText(value) }));
  return { name, place, ticks: withNone(ticks, values) };
}

function withNone(ticks: Scale["ticks"], values: readonly unknown[]): Scale["ticks"] {
  return values.includes(undefined) ? [...ticks, { at: NONE_AT, text: "none" }] : ticks;
}

function parallelCoordinates(ranked: readonly Ranked[], metric: string): string {
  const lines = ranked.slice(0, REPORT_LINES);
  const scales = [
    ...varying(lines).map((name) =>
      scaleOf(
        name,
        lines.map(({ parameters }) => parameters.get(name)),
      ),
    ),
    scaleOf(
      metric,
      lines.map(({ value }) => value),
    ),
  ];
  const [top, height] = [34, 280];
  const below = scales.some(({ ticks }) => ticks.some(({ at }) => at === NONE_AT)) ? 40 : 16;
  const x = (i: number): number => 70 + (i * (WIDTH - 140)) / Math.max(1, scales.length - 1);
  const y = (part: number): number => top + height * (1 - part);
  const axes = scales.map(({ name, ticks }, i) => {
    const texts = ticks.map(
      ({ at, text }) => `<text x="${round(x(i) + 5)}" y="${round(y(at) + 4)}">${escape(cut(text))}<title>${escape(text)}</title></text>`,
    );
    return `<text x="${round(x(i))}" y="16" text-anchor="middle">${escape(cut(name))}<title>${escape(name)}</title></text><line class="axis" x1="${round(x(i))}" x2="${round(x(i))}" y1="${top}" y2="${top + height}"/>${texts.join("")}`;
  });
  // The best are drawn last, above the others.
  const paths = lines
    .map(({ trial, value, parameters }, rank) => {
      const points = scales.map(({ name, place }, i) => {
        const at = place(i === scales.length - 1 ? value : parameters.get(name));
        return `${round(x(i))},${round(y(at))}`;
      });
      return `<polyline class="line" ${strokeOf(rank / Math.max(1, lines.length - 1))} points="${points.join(" ")}"><title>${escape(`${trial.id}: ${metric} ${valueText(value)}`)}</title></polyline>`;
    })
    .toReversed();
  return `<svg viewBox="0 0 ${WIDTH} ${top + height + below}" role="img" aria-label="Parallel coordinates">${paths.join("")}${axes.join("")}</svg>`;
}

function learningCurves(curves: readonly Curve[]): string {
  const points = curves.flatMap((curve) => curve.points);
  const xs = scaleOf(
    "iteration",
    points.map(([at]) => at),
  );
  const ys = scaleOf(
    "metric",
    points.map(([, value]) => value),
  );
  const [left, top, width, height] = [70, 10, WIDTH - 90, 260];
  const x = (value: number): number => left + width * xs.place(value);
  const y = (value: number): number => top + height * (1 - ys.place(value));
  const lines = curves.map(({ label, points: own }, rank) => {
    const at = own.map(([iteration, value]) => `${round(x(iteration))},${round(y(value))}`);
    const stroke = strokeOf(rank / Math.max(1, curves.length - 1));
    const mark = own.length === 1 ? `<circle class="dot" cx="${at[0]?.split(",")[0]}" cy="${at[0]?.split(",")[1]}" r="2" ${stroke}/>` : "";
    return `<polyline class="line" ${stroke} points="${at.join(" ")}"><title>${escape(label)}</title></polyline>${mark}`;
  });
  const yTicks = ys.ticks.map(
    ({ at, text }) => `<text x="${left - 6}" y="${round(top + height * (1 - at) + 4)}" text-anchor="end">${escape(text)}</text>`,
  );
  const xTicks = xs.ticks.map(
    ({ at, text }) => `<text x="${round(left + width * at)}" y="${top + height + 16}" text-anchor="middle">${escape(text)}</text>`,
  );
  const frame = `<path class="axis" fill="none" d="M${left} ${top}V${top + height}H${left + width}"/>`;
  return `<svg viewBox="0 0 ${WIDTH} ${top + height + 24}" role="img" aria-label="Learning curves">${frame}${lines.toReversed().join("")}${yTicks.join("")}${xTicks.join("")}</svg>`;
}

function importanceBars(ranked: readonly Ranked[]): string {
  const names = new Set(varying(ranked));
  const rows = ranked.map(
    ({ parameters, value }): ImportanceRow => ({ parameters: new Map([...parameters].filter(([name]) => names.has(name))), metric: value }),
  );
  const shares = importanceOf(rows);
  if (shares.length === 0) return `<p class="hint">Too few trials to tell: 8 with a value are needed.</p>`;
  const bars = shares.map(({ name, share }, i) => {
    const y = 4 + i * 24;
    return `<text x="190" y="${y + 14}" text-anchor="end">${escape(name)}</text><rect class="bar" x="200" y="${y}" width="${round(Math.max(1, share * 700))}" height="18" rx="2"/><text x="${round(210 + share * 700)}" y="${y + 14}">${Math.round(share * 100)} %</text>`;
  });
  return `<svg viewBox="0 0 ${WIDTH} ${8 + shares.length * 24}" role="img" aria-label="Importance of parameters">${bars.join("")}</svg>`;
}

function failures(trials: readonly KnownTrial[]): string {
  const failed = trials.filter(({ failure }) => failure !== undefined && failure !== null);
  if (failed.length === 0) return "";
  const items = failed.slice(0, REPORT_ROWS).map(({ id, failure }) => {
    const { message = "", namesTrial = false } = failure ?? {};
    return `<pre>${escape(namesTrial ? message : `${id}: ${message}`)}</pre>`;
  });
  const hint = items.length === failed.length ? "" : `<p class="hint">The first ${items.length} of ${failed.length}.</p>`;
  return `<h2>Failures</h2>${hint}${items.join("")}`;
}

async function curvesOf(ranked: readonly Ranked[], { folder, metric }: { folder: string; metric: string }): Promise<Curve[]> {
  const curves = await Promise.all(
    ranked.map(async ({ trial }): Promise<Curve | undefined> => {
      try {
        const columns = await new Result({ path: joinPath(folder, trial.dirname), metrics: undefined }).metricsColumns();
        const iterations = columns.trainingIteration ?? [];
        const points = (columns[metric] ?? []).flatMap((value, i): [number, number][] =>
          typeof value === "number" && Number.isFinite(value) ? [[typeof iterations[i] === "number" ? iterations[i] : i + 1, value]] : [],
        );
        const step = Math.ceil(points.length / REPORT_CURVE_POINTS);
        return { label: trial.id, points: points.filter((_, i) => i % step === 0 || i === points.length - 1) };
      } catch {
        // A trial without files has no curve.
        return undefined;
      }
    }),
  );
  return curves.filter((curve) => curve !== undefined && curve.points.length > 0) as Curve[];
}

/** From blue for the best, with 0, to grey for the last, with 1. On a dark ground the style mixes other colours by the rank. */
function strokeOf(rank: number): string {
  const part = Math.sqrt(rank);
  const mix = (from: number, to: number): number => Math.round(from + (to - from) * part);
  return `stroke="rgb(${mix(20, 205)},${mix(80, 211)},${mix(190, 219)})" style="--rank:${part.toFixed(2)}"`;
}

/** A text that leaves room for the next axis; the whole is its tooltip. */
function cut(text: string): string {
  return text.length > 18 ? `${text.slice(0, 17)}…` : text;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
