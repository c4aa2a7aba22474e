"""The trainable of tune-xgboost.ts: boosted trees for a table that has noise in it, with a report after each round."""

import numpy
import xgboost
from shoal import tune


def table(rows, seed):
    random = numpy.random.default_rng(seed)
    values = random.normal(size=(rows, 8))
    target = values[:, 0] * values[:, 1] + numpy.sin(3 * values[:, 2]) + 0.3 * random.normal(size=rows)
    return xgboost.DMatrix(values, label=target)


class Report(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        tune.report({"rmse": evals_log["unseen"]["rmse"][-1], "rounds": epoch + 1})
        return False


def train(config):
    params = {"objective": "reg:squarederror", "tree_method": "hist", "nthread": 1, "seed": 0, **config["params"]}
    xgboost.train(params, table(2000, 1), config["rounds"], evals=[(table(1000, 2), "unseen")], callbacks=[Report()], verbose_eval=False)
