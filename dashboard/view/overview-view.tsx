/**
 * The overview: the use of the cluster, calls and actors by state, what waits, what failed, and what has run for longest.
 *
 * Each number leads to the list behind it. Numbers stay while the server does not answer, and their age grows.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { addressOf, detailsPlaceOf, firstRowsOf } from "../model/place.ts";
import { type NodeOverview, type Overview, readOverview, type Row } from "../model/server.ts";
import { visibleLines, visibleText } from "../model/visible-text.ts";
import { amountText, durationText, State, Time, timeText } from "./cells.tsx";
import { ChartsView } from "./charts-view.tsx";
import { isOldAt, useAge, usePolling } from "./polling.ts";
import { RowTable } from "./row-table.tsx";

interface Shown {
  readonly overview: Overview | undefined;
  readonly readAtMs: number;
}

export function OverviewView({ onLoginNeeded }: { onLoginNeeded: (reason: string) => void }): ComponentChildren {
  const [{ overview, readAtMs }, setShown] = useState<Shown>({ overview: undefined, readAtMs: performance.now() });
  const read = async (signal: AbortSignal): Promise<void> => {
    const next = await readOverview(signal);
    if (!signal.aborted) setShown({ overview: next, readAtMs: performance.now() });
  };
  const problem = usePolling(read, [], onLoginNeeded);
  const isOld = isOldAt(useAge(readAtMs));
  return (
    <main class={isOld ? "old" : ""}>
      <header class="choices">
        <h1>Overview</h1>
        <p class="age">{overview === undefined ? "" : `as of ${timeText(overview.as_of_ms)}${isOld ? " (old)" : ""}`}</p>
      </header>
      <div role="alert">{problem === "" ? null : <p class="problem">{visibleText(problem, 2_000)}</p>}</div>
      {overview?.warnings.map((text) => (
        <p class="warning" key={text}>
          {visibleText(text, 2_000)}
        </p>
      ))}
      {overview === undefined ? (
        problem === "" && <p class="empty">Loading…</p>
      ) : (
        <Panels overview={overview} onLoginNeeded={onLoginNeeded} />
      )}
    </main>
  );
}

function Panels({ overview, onLoginNeeded }: { overview: Overview; onLoginNeeded: (reason: string) => void }): ComponentChildren {
  const { nodes, nodes_gone: gone, tasks, actors, waiting, failures, longest, dead_actors: dead } = overview;
  const total = (pick: (node: NodeOverview) => number | null | undefined): number =>
    nodes.reduce((sum, node) => sum + (pick(node) ?? 0), 0);
  return (
    <>
      <div class="tiles">
        <Tile title="Nodes" href={addressOf(firstRowsOf("nodes"))}>
          <p class="big">{nodes.length}</p>
          {gone > 0 && <p class="problem">{gone} gone</p>}
        </Tile>
        <Tile title="CPUs held by calls">
          <Part name="CPU" used={total(({ resources }) => resources["CPU"]?.[0])} all={total(({ resources }) => resources["CPU"]?.[1])} />
        </Tile>
        <Tile title="Memory in use">
          <Part name="memory" used={total((node) => node.memory_used)} all={total((node) => node.memory_total)} />
        </Tile>
        <Tile title="Object store">
          <Part name="memory" used={total((node) => node.store_used)} all={total((node) => node.store_total)} />
        </Tile>
        <Tile title="Tasks and calls">
          <States page="tasks" counts={tasks} />
        </Tile>
        <Tile title="Actors">
          <States page="actors" counts={actors} />
        </Tile>
      </div>
      {nodes.length > 0 && <ChartsView onLoginNeeded={onLoginNeeded} />}
      {waiting.length > 0 && (
        <Section title="What waits for resources">
          <ul class="plain">
            {waiting.map(({ resources, count, isInfeasible }) => (
              <li key={JSON.stringify(resources)}>
                <strong>{count.toLocaleString("en")}</strong> for{" "}
                {Object.entries(resources)
                  .map(([name, amount]) => `${amountText(name, amount)} ${visibleText(name)}`)
                  .join(", ")}
                {isInfeasible && <span class="problem"> – no node can ever hold this</span>}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Newest errors" href={addressOf({ ...firstRowsOf("tasks"), state: "FAILED" })}>
        {failures.length === 0 ? <p class="empty">No call has failed.</p> : <Errors rows={failures} />}
      </Section>
      {dead.length > 0 && (
        <Section title="Actors that ended" href={addressOf({ ...firstRowsOf("actors"), state: "DEAD" })}>
          <DeadActors rows={dead} />
        </Section>
      )}
      <Section title="Running for longest" href={addressOf({ ...firstRowsOf("tasks"), state: "RUNNING", sort: "-duration_ms" })}>
        {longest.length === 0 ? <p class="empty">Nothing runs.</p> : <Longest rows={longest} />}
      </Section>
      <Section title="Use of the machines" href={addressOf(firstRowsOf("nodes"))}>
        {nodes.length === 0 ? <p class="empty">No node lives.</p> : <Machines nodes={nodes} />}
      </Section>
    </>
  );
}

function Tile({ title, href, children }: { title: string; href?: string; children: ComponentChildren }): ComponentChildren {
  return (
    <section class="tile">
      <h2>{href === undefined ? title : <a href={href}>{title}</a>}</h2>
      {children}
    </section>
  );
}

function Section({ title, href, children }: { title: string; href?: string; children: ComponentChildren }): ComponentChildren {
  return (
    <section class="panel">
      <h2>
        {title}
        {href !== undefined && (
          <a class="all" href={href} aria-label={`All: ${title}`}>
            all
          </a>
        )}
      </h2>
      {children}
    </section>
  );
}

function Part({ name, used, all }: { name: string; used: number; all: number }): ComponentChildren {
  if (all === 0) return <p class="empty">not known</p>;
  return (
    <>
      <p class="big">
        {amountText(name, used)} <small>of {amountText(name, all)}</small>
      </p>
      <meter min={0} max={all} value={used} aria-label={`${amountText(name, used)} of ${amountText(name, all)}`} />
    </>
  );
}

function States({ page, counts }: { page: string; counts: Readonly<Record<string, number>> }): ComponentChildren {
  const states = Object.entries(counts);
  if (states.length === 0) return <p class="empty">none yet</p>;
  return (
    <ul class="states">
      {states.map(([state, count]) => (
        <li key={state}>
          <a href={addressOf({ ...firstRowsOf(page), state })}>
            <State name={state} /> <span class="number">{count.toLocaleString("en")}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Errors({ rows }: { rows: readonly Row[] }): ComponentChildren {
  return (
    <ul class="plain">
      {rows.map((row) => {
        const [first = "", ...rest] = textOf(row["error_message"] ?? row["error_type"]).split("\n");
        return (
          <li key={`${textOf(row["task_id"])} ${textOf(row["attempt_number"])}`}>
            <Time ms={row["end_time_ms"]} /> <a href={detailsOf("tasks", row["task_id"])}>{visibleText(textOf(row["name"]))}</a>
            {rest.length === 0 ? (
              <span class="problem"> {visibleText(first)}</span>
            ) : (
              <details>
                <summary>{visibleText(first)}</summary>
                <pre>{visibleLines([first, ...rest].join("\n"))}</pre>
              </details>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function DeadActors({ rows }: { rows: readonly Row[] }): ComponentChildren {
  return (
    <ul class="plain">
      {rows.map((row) => {
        const cause = row["death_cause"] as { readonly reason?: unknown } | null;
        return (
          <li key={textOf(row["actor_id"])}>
            <a href={detailsOf("actors", row["actor_id"])}>{visibleText(textOf(row["class_name"]))}</a> {visibleText(textOf(row["name"]))}{" "}
            <span class="faint">{visibleText(textOf(cause?.reason))}</span>
          </li>
        );
      })}
    </ul>
  );
}

function Longest({ rows }: { rows: readonly Row[] }): ComponentChildren {
  return (
    <ul class="plain">
      {rows.map((row) => (
        <li key={textOf(row["task_id"])}>
          <span class="number">{durationText(row["duration_ms"])}</span>{" "}
          <a href={detailsOf("tasks", row["task_id"])}>{visibleText(textOf(row["name"]))}</a>{" "}
          <span class="faint">in process {textOf(row["worker_pid"])}</span>
        </li>
      ))}
    </ul>
  );
}

function Machines({ nodes }: { nodes: readonly NodeOverview[] }): ComponentChildren {
  const part = (used: number | null, all: number | null): string =>
    used === null || all === null ? "not known" : `${amountText("memory", used)} of ${amountText("memory", all)}`;
  const titles = ["Node", "State", "Processors", "Memory", "Object store", "Disk"];
  const rows = nodes.map((node) => {
    const disk = node.disk_used === null || node.disk_free === null ? null : node.disk_used + node.disk_free;
    const amounts = [
      node.cpu_percent === null ? "not known yet" : `${Math.round(node.cpu_percent)} %`,
      part(node.memory_used, node.memory_total),
      part(node.store_used, node.store_total),
      part(node.disk_used, disk),
    ];
    const cells = [
      <a href={detailsOf("nodes", node.node_id)}>{visibleText(node.node_name)}</a>,
      <State name={node.state} />,
      ...amounts.map((text) => <span class="number">{text}</span>),
    ];
    return { key: node.node_id, cells };
  });
  return <RowTable label="Use of the machines" titles={titles} rows={rows} />;
}

function detailsOf(page: string, id: unknown): string {
  return addressOf(detailsPlaceOf(page, textOf(id)));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
