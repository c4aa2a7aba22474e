/**
 * The report of an experiment: one HTML file without scripts and without a network, for any browser and for mail.
 *
 * Shows the best trials, parallel coordinates, learning curves and the importance of parameters. Everything that users named or reported is escaped. Learning curves are read from the
 * files of the best trials alone.
 */
import { metricAt } from "../runs/kept-checkpoints.ts";
import { flatMetrics } from "../runs/metrics.ts";
import { durationText, valueText } from "../runs/progress-lines.ts";
import { Result } from "../runs/result.ts";
import { writeWhole } from "../storage/folders.ts";
import { joinPath } from "../storage/paths.ts";
import { resolveFolder } from "../storage/places.ts";
import { ConfigCodec } from "./config-codec.ts";
import { importanceOf, type ImportanceRow } from "./importance.ts";
import { REPORT_CURVE_POINTS, REPORT_CURVES, REPORT_LINES, REPORT_ROWS } from "./limits.ts";
import { type KnownTrial, resultOf } from "./live-trial.ts";
import type { Metrics, Mode } from "./trial.ts";

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
  await writeWhole(await resolveFolder(path), Buffer.from(htmlReport(facts, curves)));
}

/** The report as a text. Pure. */
export function htmlReport(facts: ReportFacts, curves: readonly Curve[]): string {
  const { trials, folder, metrics, modes } = facts;
  const [metric = ""] = metrics;
  const ranked = rankedTrials(facts);
  const name = folder.slice(folder.lastIndexOf("/") + 1);
  const errored = trials.filter(({ status }) => status === "errored").length;
  const sections = [
    `<h1>${escape(name)}</h1>`,
    `<p class="facts">${trials.length} trials, ${errored} failed${metric === "" ? "" : `; the ${modes[0] === "max" ? "highest" : "lowest"} <b>${escape(metric)}</b> is the best`}</p>`,
    bestTable(ranked, trials, metric),
    ...(ranked.length === 0
      ? []
      : [
          section("Parallel coordinates", "A line is a trial; the bluest lines are the best ones.", parallelCoordinates(ranked, metric)),
          ...(curves.length === 0
            ? []
            : [section("Learning curves", `${metric} over iterations, of the best ${curves.length} trials.`, learningCurves(curves))]),
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
svg{display:block;max-width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:#5b6675;paint-order:stroke;stroke:#fff;stroke-width:3px}
.axis{stroke:#b6bfca}.line{fill:none;stroke-width:1.4}.bar{fill:#2f6fde}pre{white-space:pre-wrap;background:#fbf1f0;padding:.6rem}
@media (prefers-color-scheme:dark){body{background:#151a21;color:#e3e8ef}th,td{border-color:#2b333f}tr.best td{background:#1b2b42}pre{background:#2c1c1b}svg text,.facts,.hint,th{color:#9aa6b5;fill:#9aa6b5}svg text{stroke:#151a21}.line,.dot{stroke:color-mix(in srgb,#3d4754 calc(100%*var(--rank)),#6ea8ff)}.dot{fill:#6ea8ff}.axis{stroke:#556170}}
`;

function section(title: string, hint: string, body: string): string {
  return `<h2>${escape(title)}</h2><p class="hint">${escape(hint)}</p>${body}`;
}

/** Trials with a finite value, the best first. */
function rankedTrials({ trials, metrics, modes }: ReportFacts): Ranked[] {
  const [metric] = metrics;
  const sign = modes[0] === "max" ? -1 : 1;
  const ranked = trials.flatMap((trial): Ranked[] => {
    const result = resultOf(trial);
    const value = metric === undefined || result === undefined ? undefined : metricAt(result as unknown as Metrics, metric);
    if (typeof value !== "number" || !Number.isFinite(value)) return [];
    const flat = flatMetrics(ConfigCodec.shown(trial.config));
    const parameters = new Map(Array.from(flat, ([name, part]) => [name, typeof part === "number" ? part : valueText(part)]));
    return [{ trial, value, parameters }];
  });
  return ranked.sort((a, b) => sign * (a.value - b.value));
}

/** Parameters that differ between trials. */
function varying(ranked: readonly Ranked[]): string[] {
  const names = [...new Set(ranked.flatMap(({ parameters }) => [...parameters.keys()]))];
  return names.filter((name) => new Set(ranked.map(({ parameters }) => parameters.get(name))).size > 1);
}

function bestTable(ranked: readonly Ranked[], trials: readonly KnownTrial[], metric: string): string {
  const shown =
    ranked.length > 0
      ? ranked.slice(0, REPORT_ROWS)
      : trials
          .slice(0, REPORT_ROWS)
          .map((trial) => ({ trial, value: Number.NaN, parameters: new Map(flatMetrics(ConfigCodec.shown(trial.config))) }));
  const names = [...new Set(shown.flatMap(({ parameters }) => [...parameters.keys()]))];
  const head = ["trial", ...(metric === "" ? [] : [metric]), ...names, "iterations", "time"];
  const rows = shown.map(({ trial, value, parameters }, i) => {
    const cells = [
      trial.id,
      ...(metric === "" ? [] : [valueText(value)]),
      ...names.map((name) => valueText(parameters.get(name) ?? null)),
      String(trial.iteration),
      durationText(trial.timeTotalMs),
    ];
    return `<tr${i === 0 && ranked.length > 0 ? ' class="best"' : ""}>${cells.map((cell) => `<td>${escape(cell)}</td>`).join("")}</tr>`;
  });
  return `<h2>Trials</h2><div class="wide"><table><tr>${head.map((cell) => `<th>${escape(cell)}</th>`).join("")}</tr>${rows.join("")}</table></div>`;
}

const WIDTH = 1040;

/** An axis of parallel coordinates: where a value stands, from 0 to 1, and the texts at its ends or options. */
interface Scale {
  readonly name: string;
  place(value: number | string | undefined): number | undefined;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

function scaleOf(name: string, values: readonly (number | string | undefined)[]): Scale {
  const texts = values.filter((value) => typeof value === "string");
  if (texts.length > 0) {
    const options = [...new Set(values.filter((value) => value !== undefined).map(String))].sort();
    const at = (text: string): number => (options.length === 1 ? 0.5 : options.indexOf(text) / (options.length - 1));
    const ticks = options.slice(0, 12).map((text) => ({ at: at(text), text }));
    return { name, place: (value) => (value === undefined ? undefined : at(String(value))), ticks };
  }
  const numbers = values.filter((value) => typeof value === "number");
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  // Values over several powers of ten are of a logarithmic domain, most likely.
  const isLog = low > 0 && high / low >= 100;
  const scaled = (value: number): number => (isLog ? Math.log(value) : value);
  const span = scaled(high) - scaled(low);
  const place = (value: number | string | undefined): number | undefined =>
    typeof value !== "number" ? undefined : span === 0 ? 0.5 : (scaled(value) - scaled(low)) / span;
  const between = isLog ? Math.sqrt(low * high) : (low + high) / 2;
  const middle = numbers.every(Number.isInteger) ? Math.round(between) : between;
  return { name, place, ticks: [low, middle, high].map((value) => ({ at: place(value) as number, text: valueText(value) })) };
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
      const places = scales.map(({ name, place }, i) => ({ i, at: place(i === scales.length - 1 ? value : parameters.get(name)) }));
      const points = places.filter(({ at }) => at !== undefined).map(({ i, at }) => `${round(x(i))},${round(y(at as number))}`);
      return `<polyline class="line" ${strokeOf(rank / Math.max(1, lines.length - 1))} points="${points.join(" ")}"><title>${escape(`${trial.id}: ${metric} ${valueText(value)}`)}</title></polyline>`;
    })
    .toReversed();
  return `<svg viewBox="0 0 ${WIDTH} ${top + height + 16}" role="img" aria-label="Parallel coordinates">${paths.join("")}${axes.join("")}</svg>`;
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
  const x = (value: number): number => left + width * (xs.place(value) as number);
  const y = (value: number): number => top + height * (1 - (ys.place(value) as number));
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
  const items = failed.slice(0, REPORT_ROWS).map(({ id, failure }) => `<pre>${escape(id)}: ${escape(failure?.message ?? "")}</pre>`);
  return `<h2>Failures</h2>${items.join("")}`;
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
