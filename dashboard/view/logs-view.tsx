/**
 * The page of logs: a list of all files, or the text of one, which goes on as more is printed.
 *
 * The text is a bounded number of lines, each a text node. It follows the end while the viewer is there, and stays where the viewer has
 * scrolled to. `polling.ts` reads it again.
 */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { EMPTY_LOG, type LogText, shownLine, withText } from "../model/log-text.ts";
import { addressOf, logPlaceOf, type Place } from "../model/place.ts";
import { type LogFile, type LogFiles, logQueryOf, readLogFiles, readLogStep } from "../model/server.ts";
import { visibleText } from "../model/visible-text.ts";
import { usePolling } from "./polling.ts";
import { RowTable } from "./row-table.tsx";

const FILES_SHOWN_MAX = 500;

interface LogsViewProps {
  readonly place: Place;
  readonly go: (place: Place, isNew: boolean) => void;
  readonly onLoginNeeded: (reason: string) => void;
}

export function LogsView(props: LogsViewProps): ComponentChildren {
  return props.place.by === "" ? <FileList {...props} /> : <LogPage {...props} />;
}

function FileList({ place, go, onLoginNeeded }: LogsViewProps): ComponentChildren {
  const [found, setFound] = useState<LogFiles>();
  const problem = usePolling(async (signal) => setFound(await readLogFiles(signal)), [], onLoginNeeded);
  const matching = found?.files.filter(({ name, nodeId }) => name.includes(place.filter) || nodeId.includes(place.filter)) ?? [];
  return (
    <main>
      <header class="choices">
        <h1>Logs</h1>
        <form role="search" onSubmit={(event) => event.preventDefault()}>
          <label>
            Name or node contains
            <input
              type="search"
              spellcheck={false}
              value={place.filter}
              onInput={(event) => go({ ...place, filter: event.currentTarget.value }, false)}
            />
          </label>
        </form>
        <p class="age">
          {found === undefined ? "" : `${matching.length.toLocaleString("en")} of ${found.files.length.toLocaleString("en")}`}
        </p>
      </header>
      <Problem text={problem} />
      {found?.warnings.map((text) => (
        <p class="warning" key={text}>
          {visibleText(text, 2_000)}
        </p>
      ))}
      {found === undefined ? problem === "" && <p class="empty">Loading…</p> : <FileTable files={matching.slice(0, FILES_SHOWN_MAX)} />}
      {matching.length > FILES_SHOWN_MAX && <p class="warning">The newest {FILES_SHOWN_MAX} are shown.</p>}
    </main>
  );
}

function FileTable({ files }: { files: readonly LogFile[] }): ComponentChildren {
  if (files.length === 0) return <p class="empty">There is none.</p>;
  const rows = files.map(({ nodeId, name, sizeBytes, modifiedMs }) => ({
    key: `${nodeId} ${name}`,
    cells: [
      <a class="file" href={addressOf(logPlaceOf("filename", name, nodeId))}>
        {visibleText(name)}
      </a>,
      <span class="number">{sizeBytes.toLocaleString("en")}</span>,
      <time dateTime={new Date(modifiedMs).toISOString()}>{new Date(modifiedMs).toLocaleString()}</time>,
      <code>{visibleText(nodeId)}</code>,
    ],
  }));
  return <RowTable label="Logs" titles={["File", "Bytes", "Changed", "Node"]} rows={rows} />;
}

function LogPage({ place, go, onLoginNeeded }: LogsViewProps): ComponentChildren {
  const [log, setLog] = useState(EMPTY_LOG);
  const [facts, setFacts] = useState({ name: "", isLive: false });
  const next = useRef<string | undefined>(undefined);
  const problem = usePolling(
    async (signal) => {
      for (let isEnd = false; !isEnd && !signal.aborted; ) {
        const step = await readLogStep(place, next.current, signal);
        next.current = step.next;
        isEnd = step.is_end;
        setLog((before) => withText(before, step.text));
        setFacts({ name: step.filename, isLive: step.is_live });
      }
      // The component is another one for each place.
    },
    [],
    onLoginNeeded,
  );
  const [wanted, setWanted] = useState("");
  const isOfWorker = !["filename", "submission_id"].includes(place.by);
  const download = logQueryOf(place);
  download.set("lines", "-1");
  return (
    <main>
      <header class="choices">
        <h1>{visibleText(facts.name === "" ? place.filter : facts.name)}</h1>
        <form role="search" onSubmit={(event) => event.preventDefault()}>
          {isOfWorker && (
            <label>
              Stream
              <select value={place.state} onChange={(event) => go({ ...place, state: event.currentTarget.value }, true)}>
                <option value="">output</option>
                <option value="err">errors</option>
              </select>
            </label>
          )}
          <label>
            Lines with
            <input type="search" spellcheck={false} value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
          </label>
          <a href={`/api/v0/logs/file?${download}`}>Save all</a>
        </form>
        <p class="age">{facts.name === "" ? "" : facts.isLive ? "goes on" : "has ended"}</p>
      </header>
      <Problem text={problem} />
      {log.dropped > 0 && <p class="warning">{log.dropped.toLocaleString("en")} earlier lines are not shown.</p>}
      <Lines log={log} wanted={wanted} />
    </main>
  );
}

function Lines({ log, wanted }: { log: LogText; wanted: string }): ComponentChildren {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [log, wanted]);
  const shown = log.lines.map(shownLine).filter((line) => line.includes(wanted));
  return (
    <pre
      class="log"
      ref={box}
      role="log"
      aria-label="Text of the log"
      tabIndex={0}
      onScroll={({ currentTarget: at }) => {
        isAtEnd.current = at.scrollTop + at.clientHeight >= at.scrollHeight - 4;
      }}
    >
      {shown.length === 0 ? (log.lines.length === 0 ? "" : "No line matches.") : shown.join("\n")}
    </pre>
  );
}

function Problem({ text }: { text: string }): ComponentChildren {
  return <div role="alert">{text === "" ? null : <p class="problem">{visibleText(text, 2_000)}</p>}</div>;
}
