"""Callbacks by which frameworks report from trials, with Ray's names: a module for each framework, which is imported by that module alone.

``xgboost``, ``lightgbm``, ``keras`` and ``pytorch_lightning`` have a ``TuneReportCheckpointCallback`` each. ``ray.tune.integration`` is this module where Ray is not installed.
"""
