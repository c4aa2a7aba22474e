"""Trains a classifier of handwritten digits on the 1,797 pictures that scikit-learn brings, and writes it as an ONNX model for serve-image-classifier.ts.

    pip install scikit-learn skl2onnx
    python3 digits_model.py digits.onnx [SAMPLES.json]

The model takes pictures of 8 x 8 grey values from 0 (paper) to 16 (ink). SAMPLES.json gets some that it has not seen, with the digits that they show.
"""

import json
import sys

from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

pixels, digits = load_digits(return_X_y=True)
seen, unseen, seen_digits, unseen_digits = train_test_split(pixels.astype("float32"), digits, test_size=0.25, random_state=0)
model = MLPClassifier(hidden_layer_sizes=(64,), max_iter=300, random_state=0).fit(seen, seen_digits)
onnx = to_onnx(model, initial_types=[("pixels", FloatTensorType([None, 64]))], options={"zipmap": False})
with open(sys.argv[1], "wb") as file:
    file.write(onnx.SerializeToString())
if len(sys.argv) > 2:
    with open(sys.argv[2], "w") as file:
        json.dump([{"digit": int(digit), "pixels": picture.tolist()} for picture, digit in zip(unseen[:40], unseen_digits)], file)
print("%.1f %% of unseen digits are right" % (100 * model.score(unseen, unseen_digits)))
