import { NdArray, shutdown } from "shoal";
import * as data from "shoal/data";

const images = data.rangeTensor(4, { shape: [2, 2], dtype: "float32" }).map(({ data: image }) => ({ image }));
const brighter = images.mapBatches(({ image }) => ({ image, mean: image.map(({ data: pixels }) => pixels[0]) }));
for await (const { image, mean } of brighter.iterTensors({ batchSize: 4 })) console.log(image.shape, mean.data);
const table = await brighter.toArrow();
console.log(await data.fromArrow<{ image: NdArray; mean: number }>(table).sort("mean", { descending: true }).take(1));
console.log(String(await data.fromNumpy(new NdArray(new Uint8Array(24), [4, 3, 2])).schema()));
await shutdown();
