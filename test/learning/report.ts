/**
 * Writes the curves of learning runs: `docs/rl-results.md`, and a picture in SVG.
 *
 * Each run has one plot: one line a seed, from 0 to the steps that were used, and the goal as a dashed line. The page says the command and the date.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** The outcome of one run with one seed. */
export interface RunResult {
  readonly title: string;
  readonly seed: number;
  readonly goal: number;
  readonly evaluated: number;
  readonly seconds: number;
  readonly curve: readonly (readonly [envSteps: number, reached: number | undefined])[];
}

const WIDTH = 420;
const HEIGHT = 200;
const MARGIN = 44;
const COLUMNS = 2;
const COLOURS = ["#1f77b4", "#d95f02", "#2ca02c"];

export function writeReport(results: readonly RunResult[], { command, folder }: { command: string; folder: string }): void {
  const titles = Array.from(new Set(results.map(({ title }) => title)));
  const plots = titles.map((title) => results.filter((result) => result.title === title));
  writeFileSync(join(folder, "rl-results.svg"), svg(plots));
  writeFileSync(join(folder, "rl-results.md"), page(plots, command));
}

function page(plots: readonly (readonly RunResult[])[], command: string): string {
  const rows = plots.flatMap((runs) =>
    runs.map(
      ({ title, seed, goal, evaluated, seconds, curve }) =>
        `| ${title} | ${seed} | ${goal} | ${evaluated.toFixed(1)} | ${(curve.at(-1)?.[0] ?? 0).toLocaleString("en")} | ${seconds.toFixed(1)} s |`,
    ),
  );
  return `# Learning curves

Written by \`${command}\` on ${new Date().toISOString().slice(0, 10)}. A run ends with the first
evaluation that reaches its goal. Settings are in
\`test/learning/runs.ts\`; times are wall times on two shared cores.

![Curves of all runs](rl-results.svg)

A line is the mean of the last episodes of training, by environment steps. The dashed line is the goal, which an evaluation
has to reach.

| run | seed | goal | evaluation | steps | time |
|---|---|---|---|---|---|
${rows.join("\n")}
`;
}

function svg(plots: readonly (readonly RunResult[])[]): string {
  const rows = Math.ceil(plots.length / COLUMNS);
  const parts = plots.map((runs, index) => plot(runs, (index % COLUMNS) * WIDTH, Math.floor(index / COLUMNS) * HEIGHT));
  const [width, height] = [COLUMNS * WIDTH, rows * HEIGHT];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11">
<rect width="${width}" height="${height}" fill="#fff"/>
${parts.join("\n")}
</svg>
`;
}

function plot(runs: readonly RunResult[], left: number, top: number): string {
  const points = runs.flatMap(({ curve }) =>
    curve.flatMap(([steps, reached]) => (reached === undefined ? [] : [[steps, reached] as const])),
  );
  const { goal = 0, title = "" } = runs[0] ?? {};
  const values = [...points.map(([, reached]) => reached), goal];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const last = Math.max(1, ...points.map(([steps]) => steps));
  const x = (steps: number): string => (left + MARGIN + (steps / last) * (WIDTH - 2 * MARGIN)).toFixed(1);
  const y = (value: number): string => (top + HEIGHT - 30 - ((value - low) / (high - low || 1)) * (HEIGHT - 66)).toFixed(1);
  const lines = runs.map(({ seed, curve }) => {
    const drawn = curve.flatMap(([steps, reached]) => (reached === undefined ? [] : [`${x(steps)},${y(reached)}`]));
    return `<polyline fill="none" stroke="${COLOURS[(seed - 1) % COLOURS.length]}" stroke-width="1.5" points="${drawn.join(" ")}"/>`;
  });
  return [
    `<text x="${left + MARGIN}" y="${top + 20}" font-weight="bold">${escaped(title)}</text>`,
    `<path d="M${x(0)} ${y(low)}H${x(last)}" stroke="#888"/>`,
    `<path d="M${x(0)} ${y(goal)}H${x(last)}" stroke="#888" stroke-dasharray="4 3"/>`,
    `<text x="${left + 4}" y="${y(high)}">${high.toFixed(0)}</text>`,
    `<text x="${left + 4}" y="${y(low)}">${low.toFixed(0)}</text>`,
    `<text x="${x(last)}" y="${top + HEIGHT - 14}" text-anchor="end">${last.toLocaleString("en")} steps</text>`,
    ...lines,
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
