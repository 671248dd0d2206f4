"""The study of the paper: every method on every set, at every size, and a page about it."""

from svmpress.study import openml, runner, sets
from svmpress.study.averages import curves, methods_of, sets_of
from svmpress.study.figures import STYLES, label
from svmpress.study.methods import METHODS, QUICK_METHODS, on_device
from svmpress.study.plan import QUICK_RATIOS, QUICK_ROWS, Plan
from svmpress.study.publication import publish
from svmpress.study.records import DONE, FAILED, SKIPPED, UNFINISHED, Records
from svmpress.study.sets import SETS
from svmpress.study.tables import points_of

__all__ = [
    "DONE",
    "FAILED",
    "METHODS",
    "QUICK_METHODS",
    "QUICK_RATIOS",
    "QUICK_ROWS",
    "SETS",
    "SKIPPED",
    "STYLES",
    "UNFINISHED",
    "Plan",
    "Records",
    "curves",
    "label",
    "methods_of",
    "on_device",
    "openml",
    "points_of",
    "publish",
    "runner",
    "sets",
    "sets_of",
]
