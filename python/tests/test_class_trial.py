"""Checkpoints from which a class of Tune goes on, and whose trial its code runs in.

Run by ``test/integration/tune-python.test.ts``, or by hand: ``PYTHONPATH=python python3 python/tests/test_class_trial.py``.
"""

import os
import tempfile
import unittest

from shoal.tune._class_trial import ClassTrial, Instances
from shoal.tune._trainable import Trainable

SPEC = {"config": {}, "checkpointFrequency": 0, "trialId": "0", "iteration": 0, "timeTotalMs": 0}


class Model:
    calls = []

    def step(self):
        return {}

    def load_checkpoint(self, saved):
        self.calls.append(saved)
        open("/none of these")


class LoadTest(unittest.TestCase):
    def test_load_is_called_once_though_it_misses_a_file_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            for saved, expected in [(None, folder), ('{"at": 3}', {"at": 3})]:
                if saved is not None:
                    with open(os.path.join(folder, "_dict_checkpoint.json"), "w") as file:
                        file.write(saved)
                Model.calls.clear()
                trial = ClassTrial(Instances(Model), {**SPEC, "checkpoint": folder})
                with self.assertRaisesRegex(FileNotFoundError, "none of these"):
                    trial._begin()
                self.assertEqual(Model.calls, [expected])


class Cleaned(Trainable):
    seen = []

    def step(self):
        return {}

    def cleanup(self):
        self.seen.append((self.trial_id, self.config))


class ContextTest(unittest.TestCase):
    def test_an_instance_is_cleaned_up_in_the_context_of_its_own_trial(self):
        instances = Instances(Cleaned)
        for trial in "01":
            ClassTrial(instances, {**SPEC, "trialId": trial, "config": {"of": trial}})._next(None)
        self.assertEqual((Cleaned.seen, instances.instance.trial_id), ([("0", {"of": "0"})], "1"))

    def test_a_cleanup_that_raises_is_told_and_no_fault_of_the_next_trial(self):
        class Broken(Cleaned):
            def cleanup(self):
                assert False

        instances = Instances(Broken)
        first, second, again = (ClassTrial(instances, {**SPEC, "trialId": trial}) for trial in "011")
        self.assertEqual(first._next(None)["type"], "report")
        self.assertEqual(second._next(None), {"cleanupFailure": "cleanup() after trial 0 failed: AssertionError()"})
        self.assertEqual(again._next(None)["type"], "report")
        self.assertEqual((instances.instance.trial_id, instances.clean_up()), ("1", "cleanup() after trial 1 failed: AssertionError()"))


if __name__ == "__main__":
    unittest.main()
