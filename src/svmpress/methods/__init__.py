"""Ways to compress: the default, the paper's, reduced sets."""

from svmpress.methods.auto import Auto, Finish, Scene, Setting
from svmpress.methods.base import Layout, Method, Outcome, Problem, Progress, share
from svmpress.methods.holdout import Judge, split_rows
from svmpress.methods.paper import LarsSVM, Paper
from svmpress.methods.reduced_set import ReducedSet, RkhsDistance
from svmpress.methods.surrogate import trusting_labels

__all__ = [
    "Auto",
    "Finish",
    "Judge",
    "LarsSVM",
    "Layout",
    "Method",
    "Outcome",
    "Paper",
    "Problem",
    "Progress",
    "ReducedSet",
    "RkhsDistance",
    "Scene",
    "Setting",
    "share",
    "split_rows",
    "trusting_labels",
]
