/**
 * Registers everything of `shoal/data` that travels by name: exports that users' functions import, and the functions of the engine's tasks.
 *
 * A task that needs an unregistered export is refused when it is sent, because that export is part of Shoal itself. `index.ts` names the users' exports; the
 * others are the engine's readers and tasks.
 */
import { registerExports } from "../core/internal.ts";
import { HttpStep } from "./llm/http-step.ts";
import {
  absMax,
  aggregator,
  asList,
  count,
  approxQuantile,
  approxTopK,
  countDistinct,
  max,
  mean,
  min,
  missingValuePercentage,
  quantile,
  std,
  sum,
  unique,
  valueCounter,
  zeroPercentage,
} from "./aggregates/aggregate.ts";
import { fromArrow, fromNumpy, rangeTensor, readRangeTensor } from "./reading/array-sources.ts";
import { rowCount } from "./blocks/batch.ts";
import { Column } from "./blocks/column.ts";
import { DataIterator, receivedDataIterator } from "./consuming/data-iterator.ts";
import { Dataset } from "./dataset.ts";
import { ChainActor } from "./engine/pools/pool-actor.ts";
import { combinePartition, mapBlocks, mapNumbered, mapRanges, readAndJoin, readBlocks } from "./engine/tasks/task.ts";
import { SplitCoordinator } from "./engine/streams/split-coordinator.ts";
import { partition, sampleKeys } from "./engine/exchange/partition-task.ts";
import { widenFile } from "./engine/tasks/widen-file.ts";
import { DataError } from "./errors.ts";
import {
  col,
  Expression,
  lit,
  monotonicallyIncreasingId,
  NamedExpression,
  random,
  star,
  udf,
  unnest,
  uuid,
} from "./expressions/expression.ts";
import { readAudioFile } from "./formats/media/audio.ts";
import { lookAtFiles } from "./reading/file-schemas.ts";
import { readBinaryFile } from "./formats/binary-reader.ts";
import { csvFields, readCsvFile } from "./formats/csv/csv-reader.ts";
import { readImageFile } from "./formats/media/images.ts";
import { jsonFields, readJsonFile } from "./formats/json/json-reader.ts";
import { readNumpyFile } from "./formats/numpy/numpy-reader.ts";
import { readParquetPart } from "./formats/parquet/parquet-reader.ts";
import { readTextFile } from "./formats/texts/text-reader.ts";
import { readVideoFile } from "./formats/media/videos.ts";
import { readWebdatasetFile } from "./formats/tar/webdataset-reader.ts";
import { readTfrecordFile, tfrecordFields } from "./formats/tensorflow/example-reader.ts";
import { avroFields, readAvroFile } from "./formats/avro/avro-reader.ts";
import { readAvro } from "./readers/avro.ts";
import { readSql, readSqlShard } from "./sql/read-sql.ts";
import { readTfrecords } from "./readers/tfrecords.ts";
import { readWebdataset } from "./readers/webdataset.ts";
import { Chain } from "./preprocessors/chain.ts";
import { Concatenator } from "./preprocessors/concatenator.ts";
import { CustomKBinsDiscretizer, UniformKBinsDiscretizer } from "./preprocessors/discretizers.ts";
import { mergeCounts, noCounts } from "./preprocessors/counts.ts";
import { countElements, LabelEncoder, MultiHotEncoder, OneHotEncoder, OrdinalEncoder } from "./preprocessors/encoders.ts";
import { SimpleImputer } from "./preprocessors/imputer.ts";
import { Preprocessor, preprocessorFromJson, transformBySpec } from "./preprocessors/preprocessor.ts";
import { MaxAbsScaler, MinMaxScaler, Normalizer, PowerTransformer, RobustScaler, StandardScaler } from "./preprocessors/scalers.ts";
import { CountVectorizer, countWords, FeatureHasher, HashingVectorizer, Tokenizer } from "./preprocessors/texts.ts";
import {
  readAudio,
  readBinaryFiles,
  readCsv,
  readSeveral,
  readImages,
  readJson,
  readNumpy,
  readParquet,
  readText,
  readVideos,
  readWithColumns,
} from "./reading/read.ts";
import { Schema } from "./schema.ts";
import { configure } from "./options/settings.ts";
import { fromAsyncIterable, fromColumns, fromItems, range, readDatasource, readRange, readUserTask } from "./reading/sources.ts";
import { DataStatistics } from "./reports/statistics.ts";
import { ActorPoolStrategy } from "./options/transform-options.ts";
import { denseRank, lag, lead, rank, rolling, rowNumber, running, WindowFunction } from "./steps/window-functions.ts";

registerExports("shoal/data", {
  countElements,
  countWords,
  mergeCounts,
  noCounts,
  Chain,
  Concatenator,
  CountVectorizer,
  CustomKBinsDiscretizer,
  FeatureHasher,
  HashingVectorizer,
  LabelEncoder,
  MaxAbsScaler,
  MinMaxScaler,
  MultiHotEncoder,
  Normalizer,
  OneHotEncoder,
  OrdinalEncoder,
  PowerTransformer,
  Preprocessor,
  preprocessorFromJson,
  RobustScaler,
  SimpleImputer,
  StandardScaler,
  Tokenizer,
  transformBySpec,
  UniformKBinsDiscretizer,
  denseRank,
  lag,
  lead,
  rank,
  rolling,
  rowNumber,
  running,
  WindowFunction,
  absMax,
  aggregator,
  asList,
  count,
  approxQuantile,
  approxTopK,
  countDistinct,
  max,
  mean,
  min,
  missingValuePercentage,
  quantile,
  std,
  sum,
  unique,
  valueCounter,
  widenFile,
  zeroPercentage,
  ActorPoolStrategy,
  ChainActor,
  col,
  Column,
  configure,
  DataError,
  DataIterator,
  Dataset,
  DataStatistics,
  fromArrow,
  fromAsyncIterable,
  fromColumns,
  fromItems,
  fromNumpy,
  HttpStep,
  combinePartition,
  mapBlocks,
  mapNumbered,
  mapRanges,
  Expression,
  lit,
  NamedExpression,
  partition,
  sampleKeys,
  range,
  rangeTensor,
  readAndJoin,
  readAudio,
  readAudioFile,
  readBlocks,
  readBinaryFile,
  readBinaryFiles,
  readCsv,
  readCsvFile,
  csvFields,
  jsonFields,
  lookAtFiles,
  readDatasource,
  readSeveral,
  readImageFile,
  readImages,
  readJson,
  readJsonFile,
  readNumpy,
  readNumpyFile,
  readParquet,
  readParquetPart,
  readRange,
  readRangeTensor,
  readText,
  readTextFile,
  avroFields,
  readAvro,
  readAvroFile,
  readSql,
  readSqlShard,
  readTfrecordFile,
  readTfrecords,
  tfrecordFields,
  readWebdataset,
  readWebdatasetFile,
  readUserTask,
  readVideoFile,
  readVideos,
  readWithColumns,
  receivedDataIterator,
  rowCount,
  Schema,
  SplitCoordinator,
  star,
  unnest,
  monotonicallyIncreasingId,
  random,
  udf,
  uuid,
});
