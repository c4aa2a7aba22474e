"""What PyAV reads of a file, for data-films.test.ts: `decode_film.py (frames | sound) FILE` prints JSON."""

import json
import sys

import av

kind, path = sys.argv[1:]
with av.open(path) as container:
    if kind == "frames":
        stream = container.streams.video[0]
        frames = [
            {"ms": float(frame.pts * frame.time_base) * 1000, "mean": float(frame.to_ndarray(format="rgb24").mean()), "width": frame.width, "height": frame.height}
            for frame in container.decode(stream)
        ]
        print(json.dumps(frames))
    else:
        stream = container.streams.audio[0]
        layout = stream.layout
        resampler = av.AudioResampler(format="fltp", layout=layout, rate=stream.rate)
        parts = [part.to_ndarray() for frame in container.decode(stream) for part in resampler.resample(frame)]
        parts += [part.to_ndarray() for part in resampler.resample(None)]
        channels = [[float(x) for part in parts for x in part[channel]] for channel in range(len(parts[0]))]
        print(json.dumps({"rate": stream.rate, "channels": channels}))
