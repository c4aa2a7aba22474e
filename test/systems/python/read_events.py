"""Reads a folder of event files with TensorBoard, and prints what it found as JSON: checksums, scalars by run, and the table of the plugin HParams."""

import glob
import json
import os
import sys

from tensorboard import context
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups


def events_of(path):
    """Its reader refuses records whose checksums are wrong."""
    reader = PyRecordReader_New(path)
    events = []
    while True:
        try:
            reader.GetNext()
        except Exception as error:
            if type(error).__name__ == "OutOfRangeError":
                return events
            raise
        events.append(event_pb2.Event.FromString(reader.record()))


def value_of(value):
    return getattr(value, value.WhichOneof("kind"))


folder = sys.argv[1]
files = sorted(glob.glob(os.path.join(folder, "**", "events.out.tfevents.*"), recursive=True))
multiplexer = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(folder)
multiplexer.Reload()
provider = data_provider.MultiplexerDataProvider(multiplexer, folder)
backend = backend_context.Context(base_plugin.TBContext(logdir=folder, data_provider=provider))
request = context.RequestContext()
hparams = {}
experiment = get_experiment.Handler(request, backend, "", api_pb2.GetExperimentRequest(experiment_name="")).run()
sessions = list_session_groups.Handler(
    request,
    backend,
    "",
    api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=100,
        aggregation_type=api_pb2.AGGREGATION_AVG,
        allowed_statuses=[api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE, api_pb2.STATUS_RUNNING, api_pb2.STATUS_UNKNOWN],
        col_params=[api_pb2.ColParams(metric=info.name) for info in experiment.metric_infos],
    ),
).run()
print(
    json.dumps(
        {
            "versions": [events_of(path)[0].file_version for path in files],
            "scalars": {
                run: {tag: [[event.step, event.tensor_proto.float_val[0]] for event in multiplexer.Tensors(run, tag)] for tag in multiplexer.Runs()[run]["tensors"] if not tag.startswith("_hparams_")}
                for run in multiplexer.Runs()
            },
            "metrics": sorted(info.name.tag for info in experiment.metric_infos),
            "sessions": [
                {
                    "hparams": {name: value_of(value) for name, value in group.hparams.items()},
                    "metrics": {value.name.tag: value.value for value in group.sessions[0].metric_values},
                    "status": api_pb2.Status.Name(group.sessions[0].status),
                }
                for group in sessions.session_groups
            ],
        }
    )
)
