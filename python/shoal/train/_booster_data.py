"""The data of trainers of boosted trees that were given no loop: a rank's part of each dataset, as features and label."""

from . import get_dataset_shard


def features_and_label(name, label_column):
    """:raises KeyError: where there is no such column"""
    frame = get_dataset_shard(name).materialize().to_pandas()
    if label_column not in frame.columns:
        raise KeyError("the dataset %r has no column %r, which labelColumn names: it has %s" % (name, label_column, ", ".join(map(str, frame.columns))))
    return frame.drop(columns=[label_column]), frame[label_column]
