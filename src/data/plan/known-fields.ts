/**
 * The schema of a plan before it runs: its steps are run on a block without rows. It is unknown where a user's function decides it.
 *
 * Unions go by it: each input is given the columns of all. `schema()` does, too.
 * Sources are asked for theirs, as their footers or the beginnings of their files have it.
 */
import { concatBlocks, rowlessBlock, schemaOf, unifySchemas } from "../blocks/block.ts";
import type { Field } from "../blocks/data-type.ts";
import { combineBlocks } from "../engine/exchange/combine.ts";
import { given } from "../engine/tasks/task.ts";
import { isUserCode, runChain, type Transform } from "../engine/tasks/transform.ts";
import { type PhysicalPlan, physicalInputs } from "./physical-plan.ts";
import { appendedStep } from "./rules.ts";

type Fields = readonly Field[] | undefined;

/** Steps that change no column. Some of them give no block where no row comes. */
const KEEPING_COLUMNS: ReadonlySet<string> = new Set<Transform["kind"]>(["limit", "rebatch", "sample"]);

/** @throws DataError where types of inputs do not meet, and for a step that names a column which is not there */
export async function knownFields(plan: PhysicalPlan): Promise<Fields> {
  switch (plan.kind) {
    case "input":
      return unifySchemas(plan.blocks.map(schemaOf));
    case "stored":
      return unifySchemas(plan.blocks.filter(({ schema }) => schema.length > 0).map(({ schema }) => schema));
    case "read":
      return fieldsBehind(plan.chain, await plan.source.fields?.());
    case "map":
      return plan.compute?.kind === "actors" ? undefined : fieldsBehind(plan.chain, await knownFields(plan.input));
    case "limit":
    case "blockOrder":
      return knownFields(plan.input);
    case "union":
      return togetherOf(await allKnown(plan.inputs));
    case "exchange": {
      const { combine, chain } = plan;
      const inputs = await allKnown(plan.inputs.map((input) => input.plan));
      if (inputs === undefined || combine === undefined) return fieldsBehind(chain, inputs?.[0]);
      const combined = concatBlocks([
        ...combineBlocks(
          combine,
          inputs.map((fields) => [rowlessBlock(fields)]),
        ),
      ]);
      return fieldsBehind(chain, schemaOf(combined));
    }
    case "iterable":
      return undefined;
  }
}

async function allKnown(plans: readonly PhysicalPlan[]): Promise<(readonly Field[])[] | undefined> {
  const all: (readonly Field[])[] = [];
  for (const plan of plans) {
    const fields = await knownFields(plan);
    if (fields === undefined) return undefined;
    all.push(fields);
  }
  return all;
}

function togetherOf(schemas: readonly (readonly Field[])[] | undefined): Fields {
  return schemas && unifySchemas(schemas);
}

async function fieldsBehind(chain: readonly Transform[], fields: Fields): Promise<Fields> {
  const steps = chain.filter(({ kind }) => !KEEPING_COLUMNS.has(kind)).map((step) => (step.kind === "numbered" ? step.step : step));
  if (fields === undefined || steps.some(isOpaque)) return undefined;
  for await (const block of runChain(given([rowlessBlock(fields)]), steps)) return schemaOf(block);
  return undefined;
}

/** Whether a user's function decides the columns behind a step, or these are no columns of the dataset. */
function isOpaque(step: Transform): boolean {
  return isUserCode(step) || step.kind === "pythonBatches" || step.kind === "write" || step.kind === "sink" || hasCustomAggregate(step);
}

/** Whether a function or a source of the user's decides the columns, so that each block may have others. An iterable, which may have no end, does not count. */
export function mayDiffer(plan: PhysicalPlan): boolean {
  if (plan.kind === "read" && plan.source.isOfUser === true) return true;
  return ("chain" in plan && plan.chain.some(isOpaque)) || physicalInputs(plan).some(mayDiffer);
}

function hasCustomAggregate(step: Transform): boolean {
  return "aggregates" in step && step.aggregates.some(([, { kind }]) => kind === "custom");
}

/** The step that gives blocks which are there already, such as those of `materialize`, the columns of all; undefined where they have them, or their types do not meet. */
function alignmentOf(plan: PhysicalPlan): Transform | undefined {
  if (plan.kind !== "stored" && plan.kind !== "input") return undefined;
  const schemas = plan.kind === "stored" ? plan.blocks.map(({ schema }) => schema) : plan.blocks.map(schemaOf);
  const kinds = new Map(schemas.filter(({ length }) => length > 0).map((schema) => [JSON.stringify(schema), schema]));
  if (kinds.size < 2) return undefined;
  try {
    return { kind: "conform", name: plan.kind, fields: unifySchemas([...kinds.values()]) };
  } catch {
    // A step over both types has the error, with the files.
    return undefined;
  }
}

async function alignedInput(plan: PhysicalPlan): Promise<PhysicalPlan> {
  const step = alignmentOf(plan);
  return step === undefined ? await withAlignedUnions(plan) : appendedStep(plan, step);
}

/** The plan with the inputs of each union, and kept blocks that a step takes, brought to the columns of all, where they differ and are known. */
export async function withAlignedUnions(plan: PhysicalPlan): Promise<PhysicalPlan> {
  switch (plan.kind) {
    case "map": {
      const step = alignmentOf(plan.input);
      if (step !== undefined) return { ...plan, chain: [step, ...plan.chain] };
      return { ...plan, input: await withAlignedUnions(plan.input) };
    }
    case "limit":
    case "blockOrder":
      return { ...plan, input: await withAlignedUnions(plan.input) };
    case "exchange":
      return {
        ...plan,
        inputs: await Promise.all(plan.inputs.map(async (input) => ({ ...input, plan: await alignedInput(input.plan) }))),
      };
    case "union": {
      const inputs = await Promise.all(plan.inputs.map(withAlignedUnions));
      // A step that names a missing column fails when it runs, with its own error.
      const schemas = await allKnown(inputs).catch(() => undefined);
      const fields = togetherOf(schemas);
      if (fields === undefined) return { ...plan, inputs };
      const text = JSON.stringify(fields);
      const aligned = inputs.map((input, i) =>
        JSON.stringify(schemas?.[i]) === text ? input : appendedStep(input, { kind: "conform", name: "union", fields }),
      );
      return { ...plan, inputs: aligned };
    }
    default:
      return plan;
  }
}
