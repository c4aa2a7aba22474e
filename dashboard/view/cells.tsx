/**
 * How values of the cluster look in a table: states, amounts, times, errors.
 *
 * Each text is a text node with its odd characters escaped. A value of an unexpected type is shown as JSON, and breaks no page.
 */
import type { ComponentChildren } from "preact";
import { type Column, PAGE_OF_ID } from "../model/pages.ts";
import { addressOf, detailsPlaceOf, logPlaceOf } from "../model/place.ts";
import type { Row } from "../model/server.ts";
import { visibleLines, visibleText } from "../model/visible-text.ts";

export function Cell({ column: { field, kind }, row }: { column: Column; row: Row }): ComponentChildren {
  const value = row[field];
  if (kind === "why") return <Why row={row} />;
  if (value === null || value === undefined || value === "") return null;
  switch (kind) {
    case "state":
      return <State name={textOf(value)} />;
    case "alive":
      return <State name={value === true ? "ALIVE" : "DEAD"} />;
    case "id":
      return (
        <Linked field={field} id={textOf(value)}>
          <code>{visibleText(textOf(value))}</code>
        </Linked>
      );
    case "shortId":
      return (
        <Linked field={field} id={textOf(value)}>
          <ShortId text={visibleText(textOf(value))} />
        </Linked>
      );
    case "duration":
      return <span class="number">{durationText(value)}</span>;
    case "time":
      return <Time ms={value} />;
    case "use":
      return <Use amounts={value as Readonly<Record<string, readonly [number, number]>>} />;
    case "resources":
      return <Chips texts={amountTexts(value)} />;
    case "labels":
      return <Chips texts={labelTexts(value, row)} />;
    case "log":
      return <a href={addressOf(logPlaceOf(field, textOf(value)))}>show</a>;
    case "bundles":
      return <Bundles value={value} />;
    case "lines":
      return <Lines text={textOf(value)} />;
    case "cause":
      return <Cause value={value} />;
    case "number":
    case "text":
      return <span class={kind}>{visibleText(textOf(value))}</span>;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Leads to the details of what the id names. */
function Linked({ field, id, children }: { field: string; id: string; children: ComponentChildren }): ComponentChildren {
  const page = PAGE_OF_ID[field];
  return page === undefined ? children : <a href={addressOf(detailsPlaceOf(page, id))}>{children}</a>;
}

/** The error of a call, or why it waits. */
function Why({ row }: { row: Row }): ComponentChildren {
  const reason = row["pending_reason"];
  if (typeof reason === "string") return <span class="text faint">{visibleText(reason)}</span>;
  const error = row["error_message"];
  return error === null || error === undefined || error === "" ? null : <Lines text={textOf(error)} />;
}

const ID_END_CHARACTERS = 8;

/** The middle is out of view; a copy of the text is whole. */
function ShortId({ text }: { text: string }): ComponentChildren {
  return (
    <code class="short" title={text}>
      <span>{text.slice(0, -ID_END_CHARACTERS)}</span>
      <span>{text.slice(-ID_END_CHARACTERS)}</span>
    </code>
  );
}

export function State({ name }: { name: string }): ComponentChildren {
  return <span class={`state ${name.toLowerCase()}`}>{visibleText(name)}</span>;
}

const IN_BYTES = /memory/i;
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function amountText(name: string, amount: number): string {
  if (!IN_BYTES.test(name)) return String(Math.round(amount * 10_000) / 10_000);
  let rest = amount;
  let unit = 0;
  for (; rest >= 1024 && unit < UNITS.length - 1; unit += 1) rest /= 1024;
  return `${rest >= 100 || unit === 0 ? Math.round(rest) : rest.toFixed(1)} ${UNITS[unit]}`;
}

function amountTexts(value: unknown): string[] {
  return Object.entries(value as Readonly<Record<string, number>>).map(([name, amount]) => `${name}\u00A0${amountText(name, amount)}`);
}

/** Without the node's id, which has a column. */
function labelTexts(value: object, row: Row): string[] {
  const labels = Object.entries(value).filter(([, label]) => label !== row["node_id"]);
  return labels.map(([key, label]) => `${key}=${textOf(label)}`);
}

function Use({ amounts }: { amounts: Readonly<Record<string, readonly [number, number]>> }): ComponentChildren {
  return (
    <ul class="use">
      {Object.entries(amounts).map(([name, [used, total]]) => {
        const text = `${amountText(name, used)} / ${amountText(name, total)}`;
        return (
          <li key={name}>
            <span>{visibleText(name)}</span>
            <meter min={0} max={total === 0 ? 1 : total} value={used} aria-label={`${visibleText(name)} in use`} />
            <span class="number">{text}</span>
          </li>
        );
      })}
    </ul>
  );
}

function Chips({ texts }: { texts: readonly string[] }): ComponentChildren {
  return (
    <ul class="chips">
      {texts.map((text) => (
        <li key={text}>{visibleText(text)}</li>
      ))}
    </ul>
  );
}

interface Bundle {
  readonly resources?: unknown;
  readonly node_id?: string | null;
}

function Bundles({ value }: { value: unknown }): ComponentChildren {
  const bundles = value as readonly Bundle[];
  return (
    <Chips
      texts={bundles.map(
        ({ resources, node_id }, at) => `${at}: ${amountTexts(resources ?? {}).join(", ")} on ${node_id?.slice(0, 8) ?? "no node yet"}`,
      )}
    />
  );
}

export function Lines({ text }: { text: string }): ComponentChildren {
  const first = text.split("\n", 1)[0] as string;
  if (first === text && text.length <= 100) return <span class="text">{visibleText(text)}</span>;
  return (
    <details>
      <summary>{visibleText(first, 100)}</summary>
      <pre>{visibleLines(text)}</pre>
    </details>
  );
}

function Cause({ value }: { value: unknown }): ComponentChildren {
  const { reason, last_lines: lines = [] } = value as { reason?: unknown; last_lines?: readonly unknown[] };
  return <Lines text={[reason === undefined || reason === null ? textOf(value) : textOf(reason), ...lines.map(textOf)].join("\n")} />;
}

export function Time({ ms }: { ms: unknown }): ComponentChildren {
  if (typeof ms !== "number" || ms <= 0) return null;
  const date = new Date(ms);
  return (
    <time class="number" dateTime={date.toISOString()} title={date.toLocaleString()}>
      {timeText(ms)}
    </time>
  );
}

/** The time, with the date where that is another day. */
export function timeText(ms: number): string {
  const isToday = new Date(ms).toDateString() === new Date().toDateString();
  return isToday ? clockOf(ms) : `${new Date(ms).toLocaleDateString()} ${clockOf(ms)}`;
}

/** 14:03:07 */
function clockOf(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** 12 ms, 3.4 s, 5.6 min, 7.8 h */
export function durationText(ms: unknown): string {
  if (typeof ms !== "number" || ms < 0) return "";
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 3_600_000 ? `${(ms / 60_000).toFixed(1)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}
