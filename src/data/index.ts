/**
 * `shoal/data`: datasets that stream through the memory of a cluster.
 *
 * This file exports everything that users import. `well-known-exports.ts` registers the further names that the engine's tasks need. `import "shoal"` loads
 * none of these files.
 */
import "./well-known-exports.ts";

export type { CheckpointOptions } from "./checkpoint/checkpoint-options.ts";
export type { Partition, Paths } from "./reading/file-choice.ts";
export {
  absMax,
  type Aggregate,
  aggregator,
  type AggregatorFunctions,
  asList,
  count,
  approxQuantile,
  type ApproxQuantileOptions,
  approxTopK,
  type ApproxTopKOptions,
  type NullOptions,
  type StdOptions,
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
export {
  fromArrow,
  type FromArrowOptions,
  fromNumpy,
  type NumpyLike,
  rangeTensor,
  type RangeTensorOptions,
} from "./reading/array-sources.ts";
export type { ArrowTable } from "./arrow/arrow-batch.ts";
export type { BatchFormat } from "./blocks/batch.ts";
export { rowCount } from "./blocks/batch.ts";
export { Column } from "./blocks/column.ts";
export type { BatchIn, ConsumeOptions, IterBatchesOptions, IterTensorsOptions, TensorBatch } from "./consuming/consume.ts";
export type { Datasink } from "./writing/datasink.ts";
export type { SinkTask } from "./engine/writes/sink-transform.ts";
export { DataIterator, type StreamingSplitOptions } from "./consuming/data-iterator.ts";
export {
  Dataset,
  GroupedDataset,
  type MapBatchesActorOptions,
  type MapBatchesOptions,
} from "./dataset.ts";
export type { PivotValue } from "./engine/tables/pivot-rows.ts";
export type { DropDuplicatesOptions, GroupByOptions, GroupSampleOptions, PivotOptions, SortOptions } from "./steps/exchange-steps.ts";
export type { SplitOptions, StreamingTrainTestSplitOptions, TrainTestSplitOptions } from "./consuming/splits.ts";
export type {
  WriteCsvOptions,
  WriteImagesOptions,
  WriteJsonOptions,
  WriteNumpyOptions,
  WriteOptions,
  WriteParquetOptions,
  WriteRecordsOptions,
  WriteRowsOptions,
} from "./options/write-options.ts";
export type { SqlConnect, SqlConnection } from "./sql/connection.ts";
export { readSql, type ReadSqlOptions } from "./sql/read-sql.ts";
export type { WriteSqlOptions } from "./sql/write-sql.ts";
export {
  denseRank,
  lag,
  lead,
  rank,
  rolling,
  type RollingOptions,
  rowNumber,
  running,
  WindowFunction,
  type WindowOptions,
  type WindowStatistic,
} from "./steps/window-functions.ts";
export { readAvro, type ReadAvroOptions } from "./readers/avro.ts";
export { readTfrecords, type ReadTfrecordsOptions } from "./readers/tfrecords.ts";
export { readWebdataset, type ReadWebdatasetOptions } from "./readers/webdataset.ts";
export type { WebdatasetDecoder } from "./formats/tar/webdataset-reader.ts";
export type { ImageFormat, ImageMode } from "./formats/media/images.ts";
export type { DescribeOptions } from "./describe.ts";
export { DataError } from "./errors.ts";
export { Chain } from "./preprocessors/chain.ts";
export type { ColumnOptions } from "./preprocessors/columns.ts";
export { Concatenator, type ConcatenatorOptions } from "./preprocessors/concatenator.ts";
export {
  CustomKBinsDiscretizer,
  type CustomKBinsDiscretizerOptions,
  UniformKBinsDiscretizer,
  type UniformKBinsDiscretizerOptions,
} from "./preprocessors/discretizers.ts";
export {
  type HotEncoderOptions,
  LabelEncoder,
  type LabelEncoderOptions,
  MultiHotEncoder,
  OneHotEncoder,
  OrdinalEncoder,
  type OrdinalEncoderOptions,
} from "./preprocessors/encoders.ts";
export { SimpleImputer, type SimpleImputerOptions } from "./preprocessors/imputer.ts";
export { Preprocessor, preprocessorFromJson, type PreprocessorJson } from "./preprocessors/preprocessor.ts";
export {
  MaxAbsScaler,
  MinMaxScaler,
  Normalizer,
  type NormalizerOptions,
  PowerTransformer,
  type PowerTransformerOptions,
  RobustScaler,
  type RobustScalerOptions,
  StandardScaler,
} from "./preprocessors/scalers.ts";
export {
  CountVectorizer,
  type CountVectorizerOptions,
  FeatureHasher,
  type FeatureHasherOptions,
  HashingVectorizer,
  type HashingVectorizerOptions,
  type Tokenize,
  Tokenizer,
  type TokenizerOptions,
} from "./preprocessors/texts.ts";
export type { FilenameProvider, NamedFile } from "./writing/file-names.ts";
export type { JoinAsofOptions, JoinOptions } from "./options/join-options.ts";
export type { MixOptions } from "./options/mix-options.ts";
export type { JoinType } from "./engine/tables/join.ts";
export type { AsofStrategy } from "./engine/tables/join-asof.ts";
export type { Download, ExpressionFunction, Star, Unnest } from "./expressions/expression.ts";
export type { FrequentValue, NestedList, ValueCounts } from "./expressions/expression-types.ts";
export {
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
  When,
  when,
} from "./expressions/expression.ts";
export type { AnyRow, Batch, BatchColumn } from "./row-types.ts";
export {
  readAudio,
  type ReadAudioOptions,
  readBinaryFiles,
  readCsv,
  type ReadCsvOptions,
  type ReadFilesOptions,
  readImages,
  type ReadImagesOptions,
  readJson,
  type ReadJsonOptions,
  readNumpy,
  type ReadNumpyOptions,
  readParquet,
  type ReadParquetOptions,
  readText,
  type ReadTextOptions,
  readVideos,
  type ReadVideosOptions,
  type SchemaOption,
} from "./reading/read.ts";
export type { WriteMode, WriteResult } from "./writing/write.ts";
export type { PythonBatchFormat } from "./engine/python/python-step.ts";
export type { MapBatchesPythonActorOptions, MapBatchesPythonOptions, PythonActor, PythonTask } from "./options/python-options.ts";
export type { RepartitionOptions } from "./options/repartition-options.ts";
export type { Usage } from "./blocks/usage.ts";
export * as llm from "./llm/index.ts";
export { Schema } from "./schema.ts";
export { configure, type DataSettings } from "./options/settings.ts";
export { type Datasource, fromAsyncIterable, fromColumns, fromItems, range, readDatasource, type ReadTask } from "./reading/sources.ts";
export { DataStatistics, type OperatorReport } from "./reports/statistics.ts";
export { type ColumnStatistics, DatasetSummary, type SummaryOptions, type SummaryRow } from "./summary.ts";
export { ActorPoolStrategy, type ActorTransformOptions, type PoolSize, type TransformOptions } from "./options/transform-options.ts";
