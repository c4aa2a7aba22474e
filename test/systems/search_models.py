"""Two models whose hyperparameters are searched: boosted trees and a small network, on data that scikit-learn ships.

Each function trains with the given hyperparameters and returns the mean logarithmic loss on data held out. The same point has the same loss, always.
"""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, train_test_split

warnings.filterwarnings("ignore")
np.seterr(all="ignore")

CANCER = load_breast_cancer(return_X_y=True)
DIGITS = load_digits(return_X_y=True)


def xgboost(p):
    import xgboost as xgb

    data, labels = CANCER
    parameters = {
        "objective": "binary:logistic", "max_depth": int(p["depth"]), "eta": p["eta"], "subsample": p["subsample"], "colsample_bytree": p["columns"],
        "min_child_weight": p["weight"], "lambda": p["lambda"], "nthread": 1, "seed": 0, "verbosity": 0,
    }
    losses = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(data):
        booster = xgb.train(parameters, xgb.DMatrix(data[train], labels[train]), int(p["rounds"]))
        losses.append(log_loss(labels[test], booster.predict(xgb.DMatrix(data[test])).astype(float)))
    return float(np.mean(losses))


def network(p):
    from sklearn.neural_network import MLPClassifier

    data, labels = DIGITS[0] / 16, DIGITS[1]
    train, test, train_labels, test_labels = train_test_split(data, labels, train_size=600, random_state=0, stratify=labels)
    model = MLPClassifier(
        (int(p["width"]),), solver="sgd", activation=p["activation"], alpha=p["alpha"], learning_rate_init=p["rate"], momentum=p["momentum"],
        batch_size=int(p["batch"]), max_iter=8, random_state=0,
    )
    try:
        model.fit(train, train_labels)
        loss = float(log_loss(test_labels, model.predict_proba(test), labels=list(range(10))))
    except ValueError:
        # The weights have grown beyond all bounds.
        loss = np.inf
    return loss if np.isfinite(loss) else 100.0
