/**
 * The runner of `inference: "server"`: clients ask for each action.
 *
 * A request is an observation with the reward that led there; all that wait are answered by one pass of the network. Outside of `sample` clients wait, so that no step is
 * played with old weights. A client that leaves takes its step under way along; the steps before it are learnt from.
 */
import { describeValue, messageOf } from "../../core/internal.ts";
import { Random } from "../../tensor/index.ts";
import { explorationAt } from "../distributions/action-distribution.ts";
import { FrameError, type LinkMessage, type WireArray } from "../link/frames.ts";
import type { Request } from "../link/messages.ts";
import { SpaceArrays } from "../link/space-arrays.ts";
import { checkMasks } from "../modules/masked-module.ts";
import { DEFAULT_MODULE_ID } from "../modules/policy-mapping.ts";
import type { RunnerSpec, Sample, SampleRequest, Weights } from "../runners/env-runner.ts";
import { ModuleLanes } from "../runners/module-lanes.ts";
import { SEQUENCE_END } from "../sequences/fragment.ts";
import { ExternalRunner, type Seat } from "./external-runner.ts";
import { type LinkSession, type Reply, Refusal } from "./link-session.ts";

interface Asked {
  readonly seat: Seat;
  readonly observation: unknown;
  readonly reward: number;
  readonly isFirst: boolean;
  /** `undefined` where the episode goes on. */
  readonly end: number | undefined;
  readonly answer: (reply: Reply) => void;
}

export class ActingRunner extends ExternalRunner {
  readonly #lanes: ModuleLanes;
  readonly #streams: Random[];
  readonly #observations: SpaceArrays;
  readonly #actions: SpaceArrays;
  #asked: Asked[] = [];
  /** By lane: clients that wait for an action. */
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #version = 0;

  constructor(spec: RunnerSpec) {
    super(spec);
    const { observationSpace, actionSpace } = this.built;
    const { maxClients: lanes } = this.external;
    this.#lanes = new ModuleLanes(this.built, { lanes, firstLane: this.firstLane, training: true });
    this.#streams = Array.from({ length: lanes }, (_, lane) => new Random(spec.seed, "actions", this.firstLane + lane));
    this.#observations = new SpaceArrays(observationSpace, "obs");
    this.#actions = new SpaceArrays(actionSpace, "action");
  }

  setWeights(weights: Weights): void {
    this.built.module.parameters.data.set(weights[DEFAULT_MODULE_ID] as Float32Array);
    this.#version += 1;
  }

  async sample({ steps, explore, exploration, connectors }: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    await this.ready();
    await this.events.created();
    const own = connectors?.[DEFAULT_MODULE_ID];
    if (own !== undefined) this.#lanes.setStates(own);
    this.#lanes.open(steps);
    const streams = this.#streams;
    const ways = { streams, exploration: explorationAt(exploration, this.spec.workerIndex) };
    let sampled = 0;
    while (sampled < steps) {
      for (const [lane, action] of this.#lanes.act(explore, ways)) this.#reply(lane, action);
      if (this.#asked.length === 0) await this.arrived(signal);
      sampled += this.#takeAll();
      if (this.events.isWaiting) await this.events.settle();
    }
    return await this.sampleOf(this.#lanes.close());
  }

  #reply(lane: number, action: unknown): void {
    const arrays = new Map<string, WireArray>();
    this.#actions.write([action], arrays);
    this.#waiting.get(lane)?.({ type: "ACTION", fields: { version: this.#version }, arrays });
    this.#waiting.delete(lane);
  }

  /** Takes the requests of clients. @returns the number of steps that they complete */
  #takeAll(): number {
    const asked = this.#asked;
    this.#asked = [];
    let steps = 0;
    for (const { seat, observation, reward, isFirst, end, answer } of asked) {
      if (isFirst) this.begin(seat);
      else {
        this.#lanes.reward(seat.lane, reward);
        this.step(seat, reward);
        steps += 1;
      }
      this.#lanes.arrive({ lane: seat.lane, observation, isFirst, end });
      if (end === undefined) this.#waiting.set(seat.lane, answer);
      else {
        this.end(seat, end === SEQUENCE_END.TERMINATED);
        answer({ type: "OK" });
      }
    }
    this.#lanes.settle();
    return steps;
  }

  async answer(session: LinkSession, { type, fields, arrays }: LinkMessage & { readonly type: Request }): Promise<Reply> {
    if (type !== "GET_ACTION" && type !== "END_EPISODE")
      throw new Refusal("ORDER", `the server chooses actions here, by GET_ACTION and END_EPISODE: received ${type}`);
    const seat = this.seatOf(session);
    const isFirst = type === "GET_ACTION" && fields["begins"] === true;
    if (isFirst === seat.isPlaying)
      throw new Refusal(
        "ORDER",
        isFirst ? "an episode is under way, which END_EPISODE ends" : `no episode is under way: GET_ACTION with begins: true begins one`,
      );
    const reward = isFirst ? 0 : fields["reward"];
    if (typeof reward !== "number" || !Number.isFinite(reward))
      throw new FrameError(`reward is a finite number: received ${describeValue(reward)}`);
    const [observation] = this.#observations.read(arrays, 1);
    const end = type === "GET_ACTION" ? undefined : endOf(fields["end"]);
    if (end === undefined) this.#checkMask(observation);
    const reply = Promise.withResolvers<Reply>();
    this.#asked.push({ seat, observation, reward, isFirst, end, answer: reply.resolve });
    this.wake();
    return await reply.promise;
  }

  /** An empty mask is the fault of one client, and is refused before it reaches the others. */
  #checkMask(observation: unknown): void {
    const { encoder, maskedChoices } = this.built;
    if (maskedChoices.length === 0) return;
    const row = new Float32Array(encoder.encoder.size);
    encoder.encoder.encode(observation, row, 0);
    try {
      checkMasks(row, { rows: 1, choices: maskedChoices });
    } catch (error) {
      throw new FrameError(messageOf(error));
    }
  }

  protected left({ lane }: Seat): void {
    this.#asked = this.#asked.filter(({ seat }) => seat.lane !== lane);
    this.#waiting.delete(lane);
    this.#lanes.leave(lane);
  }
}

function endOf(given: unknown): number {
  if (given === "terminated") return SEQUENCE_END.TERMINATED;
  if (given === "truncated") return SEQUENCE_END.TRUNCATED;
  throw new FrameError(`end is "terminated" or "truncated": received ${describeValue(given)}`);
}
