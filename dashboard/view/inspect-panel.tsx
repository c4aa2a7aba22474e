/**
 * Looks into the process of a row: its stack on the page, and its profiles as files.
 *
 * Shown for processes that live. The server refuses a session that only reads; its text says so in place of the stack.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ListPage } from "../model/pages.ts";
import { profileAddress, type ProcessOf, readStack, type Row, type Stack } from "../model/server.ts";
import { visibleText } from "../model/visible-text.ts";

const PROFILES = [
  ["cpu", "CPU profile, 5 s"],
  ["heap", "Allocations, 5 s"],
  ["snapshot", "Heap snapshot"],
] as const;

/** The process that a row has now; undefined for other rows. */
export function processOf({ id, stateField }: ListPage, row: Row): ProcessOf | undefined {
  if (id !== "worker_id" && id !== "actor_id" && id !== "task_id") return undefined;
  const state = row[stateField];
  const isLiving = state === true || (id === "actor_id" ? state === "ALIVE" : state === "RUNNING");
  return isLiving ? { name: id, id: String(row[id]) } : undefined;
}

export function InspectPanel({ process }: { process: ProcessOf }): ComponentChildren {
  const [stack, setStack] = useState<Stack>();
  const [text, setText] = useState("");
  const show = async (): Promise<void> => {
    setText("Asking…");
    try {
      setStack(await readStack(process));
      setText("");
    } catch (error) {
      setText((error as Error).message);
    }
  };
  return (
    <section class="inspect" aria-label="Process">
      <h2>Process</h2>
      <p class="actions">
        <button type="button" onClick={() => void show()}>
          {stack === undefined ? "Show stack" : "Show stack again"}
        </button>
        {PROFILES.map(([profile, title]) => (
          <a key={profile} href={profileAddress(process, profile)} download>
            {title}
          </a>
        ))}
      </p>
      <div role="status">{text === "" ? null : <p class="problem">{visibleText(text, 2_000)}</p>}</div>
      {stack !== undefined && <StackText stack={stack} />}
    </section>
  );
}

function StackText({ stack: { threads, running } }: { stack: Stack }): ComponentChildren {
  return (
    <>
      <p class="faint">{running.length === 0 ? "It runs no call." : `It runs ${running.map((name) => visibleText(name)).join(", ")}.`}</p>
      {threads.map(({ name, frames }) => (
        <ol class="stack" key={name} aria-label={`Stack of ${visibleText(name)}`}>
          {frames.length === 0 && <li>waits for events</li>}
          {frames.map((frame, at) => (
            <li key={at} class={frame.isInternal === true ? "faint" : ""}>
              <b>{visibleText(frame.function)}</b> <code>{visibleText(frame.file === "" ? "native" : `${frame.file}:${frame.line}`)}</code>
            </li>
          ))}
        </ol>
      ))}
    </>
  );
}
