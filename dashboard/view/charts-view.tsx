/**
 * Charts of a node or of the whole cluster over time, with the values at the pointer.
 *
 * Charts are plain SVG. The span is ten minutes, an hour or a day, and the server is asked again as points come. Lines differ in colour and in
 * their dashes, and the legend has the last values as text.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { pathOf, pointAt, scaleOf, spread } from "../model/chart-lines.ts";
import { readSeries, type Series } from "../model/server.ts";
import { visibleText } from "../model/visible-text.ts";
import { amountText, timeText } from "./cells.tsx";
import { usePolling } from "./polling.ts";

const MINUTE_MS = 60_000;
const SPANS = [
  ["10 min", 10 * MINUTE_MS, 5_000],
  ["1 h", 59.9 * MINUTE_MS, 5_000],
  ["24 h", 1_439 * MINUTE_MS, MINUTE_MS],
] as const;

interface Line {
  readonly title: string;
  readonly name: string;
}

interface ChartFacts {
  readonly title: string;
  readonly isBytes?: true;
  readonly unit: string;
  readonly lines: readonly Line[];
}

const line = (title: string, name: string): Line => ({ title, name });

const CHARTS: readonly ChartFacts[] = [
  { title: "Processors", unit: "cores", lines: [line("in use", "node_cpu_used"), line("all", "node_cpu_count")] },
  { title: "Memory", unit: "", isBytes: true, lines: [line("in use", "node_mem_used"), line("all", "node_mem_total")] },
  {
    title: "Tasks and calls",
    unit: "/s",
    lines: [line("finished", "tasks_finished_per_second"), line("failed", "tasks_failed_per_second")],
  },
  { title: "Calls that run", unit: "", lines: [line("running", "tasks_running")] },
  {
    title: "Object store",
    unit: "",
    isBytes: true,
    lines: [line("in memory", "object_store_used"), line("spilled", "object_store_spilled")],
  },
  {
    title: "Network",
    unit: "/s",
    isBytes: true,
    lines: [line("received", "node_network_receive_speed"), line("sent", "node_network_send_speed")],
  },
];

const BOX = { width: 600, height: 120 };

interface ChartsViewProps {
  /** Undefined: the whole cluster. */
  readonly nodeId?: string;
  readonly onLoginNeeded: (reason: string) => void;
}

export function ChartsView({ nodeId, onLoginNeeded }: ChartsViewProps): ComponentChildren {
  const [span, setSpan] = useState(0);
  const [series, setSeries] = useState<Series>();
  const [, spanMs, stepMs] = SPANS[span] ?? SPANS[0];
  const read = async (signal: AbortSignal): Promise<void> => {
    const next = await readSeries({ nodeId, spanMs, stepMs }, signal);
    if (!signal.aborted) setSeries(next);
  };
  const problem = usePolling(read, [nodeId, span], onLoginNeeded);
  return (
    <section class="charts" aria-label="Charts">
      <header class="choices">
        <h2>Over time</h2>
        <p class="spans" role="group" aria-label="Span">
          {SPANS.map(([title], at) => (
            <button key={title} type="button" aria-pressed={at === span} onClick={() => setSpan(at)}>
              {title}
            </button>
          ))}
        </p>
      </header>
      {problem !== "" && <p class="problem">{visibleText(problem, 2_000)}</p>}
      {series?.warnings.map((text) => (
        <p class="warning" key={text}>
          {visibleText(text, 2_000)}
        </p>
      ))}
      {series !== undefined && series.t.length === 0 && <p class="empty">The first point comes within ten seconds.</p>}
      {series !== undefined && series.t.length > 0 && (
        <div class="grid">
          {CHARTS.map((facts) => (
            <Chart key={facts.title} facts={facts} series={series} points={Math.floor(spanMs / stepMs)} stepMs={stepMs} />
          ))}
        </div>
      )}
    </section>
  );
}

interface ChartProps {
  readonly facts: ChartFacts;
  readonly series: Series;
  /** Points of the whole span. */
  readonly points: number;
  readonly stepMs: number;
}

function Chart({ facts, series: { t, series }, points, stepMs }: ChartProps): ComponentChildren {
  const [at, setAt] = useState<number>();
  const rows = facts.lines.map(({ name }) => spread(series.find((one) => one.name === name)?.v ?? [], points));
  const scale = scaleOf(rows.flat(), facts.isBytes === true);
  const shown = at ?? points - 1;
  const timeAt = (point: number): string => timeText((t.at(-1) ?? 0) - (points - 1 - point) * stepMs);
  const values = facts.lines.map(({ title }, index) => `${title} ${valueText(rows[index]?.[shown] ?? null, facts)}`);
  const move = (event: PointerEvent): void => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    setAt(pointAt((event.clientX - left) / width, points));
  };
  const x = (shown / (points - 1)) * BOX.width;
  return (
    <figure class="chart">
      <figcaption>
        <b>{facts.title}</b> <span class="faint">{timeAt(shown)}</span>
      </figcaption>
      <div class="plot">
        <span class="top faint number">{valueText(scale.top, facts)}</span>
        <svg
          viewBox={`0 0 ${BOX.width} ${BOX.height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${facts.title}: ${values.join(", ")}`}
          onPointerMove={move}
          onPointerLeave={() => setAt(undefined)}
        >
          {[0, 0.5, 1].map((share) => (
            <line key={share} class="rule" x1={0} x2={BOX.width} y1={share * BOX.height} y2={share * BOX.height} />
          ))}
          {rows.map((row, index) => (
            <path key={facts.lines[index]?.name} class={`line line-${index}`} d={pathOf(row, scale, BOX)} />
          ))}
          {at !== undefined && <line class="pointer" x1={x} x2={x} y1={0} y2={BOX.height} />}
        </svg>
      </div>
      <p class="axis faint number" aria-hidden="true">
        <span>{timeAt(0)}</span>
        <span>{timeAt(points - 1)}</span>
      </p>
      <ul class="legend">
        {values.map((text, index) => (
          <li key={facts.lines[index]?.name} class={`line-${index}`}>
            {text}
          </li>
        ))}
      </ul>
    </figure>
  );
}

function valueText(value: number | null, { isBytes, unit }: ChartFacts): string {
  if (value === null) return "–";
  if (isBytes === true) return `${amountText("memory", value)}${unit}`;
  const rounded = value >= 100 ? Math.round(value).toLocaleString("en") : String(Math.round(value * 100) / 100);
  return unit === "" || unit === "/s" ? `${rounded}${unit}` : `${rounded} ${unit}`;
}
