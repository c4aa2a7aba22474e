/** Everything of `shoal/data` that travels by name: what users import in functions that they send, and what the engine's tasks are made of. */
import { registerExports } from "../core/internal.ts";
import {
  absMax,
  aggregator,
  asList,
  count,
  countDistinct,
  max,
  mean,
  min,
  missingValuePercentage,
  quantile,
  std,
  sum,
  unique,
  zeroPercentage,
} from "./aggregates/aggregate.ts";
import { rowCount } from "./blocks/batch.ts";
import { Column } from "./blocks/column.ts";
import { Dataset } from "./dataset.ts";
import { ChainActor } from "./engine/pool-actor.ts";
import { mapBlocks, readBlocks } from "./engine/task.ts";
import { partition, sampleKeys } from "./engine/partition-task.ts";
import { DataError } from "./errors.ts";
import { Schema } from "./schema.ts";
import { configure } from "./settings.ts";
import { fromColumns, fromItems, range, readDatasource, readRange, readUserTask } from "./sources.ts";
import { DataStatistics } from "./statistics.ts";
import { ActorPoolStrategy } from "./transform-options.ts";

registerExports("shoal/data", {
  absMax,
  aggregator,
  asList,
  count,
  countDistinct,
  max,
  mean,
  min,
  missingValuePercentage,
  quantile,
  std,
  sum,
  unique,
  zeroPercentage,
  ActorPoolStrategy,
  ChainActor,
  Column,
  configure,
  DataError,
  Dataset,
  DataStatistics,
  fromColumns,
  fromItems,
  mapBlocks,
  partition,
  sampleKeys,
  range,
  readBlocks,
  readDatasource,
  readRange,
  readUserTask,
  rowCount,
  Schema,
});
