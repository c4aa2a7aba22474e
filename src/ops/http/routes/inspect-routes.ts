/**
 * Routes that look into processes: stacks and profiles, at Ray's paths.
 *
 * A stack shows code and a profile the values of texts, so a token that only reads gets neither. The process goes on meanwhile, except for
 * a heap snapshot. Profiles are files for the tools of browsers and editors, in place of Ray's pictures.
 */
import { ShoalError } from "../../../runtime/base/errors.ts";
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import type { FoundProcess, Inspector, ProcessSource, Profile } from "../../state/inspector.ts";
import { stackText } from "../../state/inspector.ts";
import { HttpError, type HttpAnswer, jsonAnswer, textAnswer } from "../http-answers.ts";
import { PROFILE_SECONDS_DEFAULT, PROFILE_SECONDS_MAX } from "../limits.ts";
import type { Route, RouteRequest } from "../router.ts";

const OF_PROCESS = {
  pid: "A worker or a program, by its process; or one of the following.",
  worker_id: "A worker.",
  actor_id: "An actor.",
  node_id: "The node of `pid`.",
};
const OF_TASK = { task_id: "A task that runs.", node_id: "Not needed." };
const DURATION = `Seconds (default: ${PROFILE_SECONDS_DEFAULT}, at most ${PROFILE_SECONDS_MAX}).`;
const ENDINGS: Readonly<Record<Profile, string>> = { cpu: "cpuprofile", heap: "heapprofile", snapshot: "heapsnapshot" };

export function inspectRoutes(inspector: Inspector): Route[] {
  const stackRoute = (path: string, query: Readonly<Record<string, string>>): Route => ({
    method: "GET",
    path,
    role: "admin",
    summary: "Shows what a process executes now, though it may compute without end.",
    query: { ...query, format: "`text` (default) or `json`." },
    answers:
      "A text with a line for each call, the innermost first; with `format=json` the process, the names of calls that `running`, and `threads` with `name` and `frames` of `function`, `file` and `line`. No frames: the thread waits for events.",
    isQuery: true,
    handle: (request) => stackAnswer(inspector, request),
  });
  const cpuRoute = (path: string, query: Readonly<Record<string, string>>): Route => ({
    method: "GET",
    path,
    role: "admin",
    summary: "Records where a process spends its time.",
    query: { ...query, duration: DURATION },
    answers: "A `.cpuprofile` for the tools of Chrome and Visual Studio Code.",
    handle: (request) => profileAnswer(inspector, request, "cpu"),
  });
  return [
    stackRoute("/worker/traceback", OF_PROCESS),
    stackRoute("/task/traceback", OF_TASK),
    cpuRoute("/worker/cpu_profile", OF_PROCESS),
    cpuRoute("/task/cpu_profile", OF_TASK),
    {
      method: "GET",
      path: "/memory_profile",
      role: "admin",
      summary: "Records where a process allocates memory, or writes all objects of its heap.",
      query: {
        ...OF_PROCESS,
        task_id: "A task that runs.",
        duration: DURATION,
        snapshot: "`1` writes all objects; the process stands still meanwhile.",
      },
      answers: "A `.heapprofile`, or a `.heapsnapshot`, for the tools of Chrome.",
      handle: (request) =>
        profileAnswer(inspector, request, ["1", "true"].includes(request.query.get("snapshot") ?? "") ? "snapshot" : "heap"),
    },
  ];
}

async function stackAnswer(inspector: Inspector, { query }: RouteRequest): Promise<HttpAnswer> {
  const format = query.get("format") ?? "text";
  if (format !== "text" && format !== "json")
    throw new HttpError(400, `Cannot show a stack: format is text or json: received ${JSON.stringify(format.slice(0, 100))}`);
  const process = await foundProcess(inspector, query);
  const [running, stack] = await Promise.all([inspector.running(process), inspector.stack(process)]).catch(refuse);
  const { workerId: worker_id, nodeId: node_id, pid } = process;
  return format === "json" ? jsonAnswer({ worker_id, node_id, pid, running, ...stack }) : textAnswer(`${stackText(stack)}\n`);
}

async function profileAnswer(inspector: Inspector, { query }: RouteRequest, profile: Profile): Promise<HttpAnswer> {
  const seconds = Number(query.get("duration") ?? PROFILE_SECONDS_DEFAULT);
  if (!(seconds > 0 && seconds <= PROFILE_SECONDS_MAX))
    throw new HttpError(
      400,
      `Cannot make a profile: duration takes seconds above 0, at most ${PROFILE_SECONDS_MAX}: received ${JSON.stringify(query.get("duration")?.slice(0, 100))}`,
    );
  const process = await foundProcess(inspector, query);
  const parts = inspector.profile(process, profile, seconds * 1_000);
  // A process that refuses is an answer with its reason; after the first part only the connection can break.
  const first = await parts.next().catch(refuse);
  return {
    status: 200,
    body: startingWith(first.done === true ? "" : first.value, parts),
    type: "application/json; charset=utf-8",
    headers: { "content-disposition": `attachment; filename="${process.pid}.${ENDINGS[profile]}"` },
  };
}

async function* startingWith(first: string, parts: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  yield first;
  yield* parts;
}

/** @throws HttpError 400 for a wrong question, 404 where there is no such process */
async function foundProcess(inspector: Inspector, query: URLSearchParams): Promise<FoundProcess> {
  const textOf = (name: string): string | undefined => {
    const text = query.get(name);
    return text === null || text === "" || text === "None" ? undefined : text;
  };
  const pid = textOf("pid");
  if (pid !== undefined && !/^[1-9]\d{0,9}$/.test(pid))
    throw new HttpError(400, `Cannot look into a process: pid is the id of a process: received ${JSON.stringify(pid.slice(0, 100))}`);
  const source: ProcessSource = {
    pid: pid === undefined ? undefined : Number(pid),
    workerId: textOf("worker_id"),
    actorId: textOf("actor_id"),
    taskId: textOf("task_id"),
    nodeId: textOf("node_id"),
  };
  const answer = await inspector.find(source);
  if (answer.kind === "none") throw new HttpError(404, `Cannot look into a process: ${answer.reason}. ${answer.hint}`);
  return answer.process;
}

/** The daemon's reason: the process ended, is busy with another question, or does not open its inspector. */
function refuse(error: unknown): never {
  const reason = error instanceof ShoalError ? error.reason : messageOf(error);
  throw new HttpError(409, `Cannot look into the process: ${reason}`);
}
