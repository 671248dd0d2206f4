"""Ways to compress: the default, the paper's, reduced sets."""

from svmpress.methods.auto import CANDIDATES, Auto, Candidate, Effort, FitTask, Margins, Recipe, Target, Work
from svmpress.methods.base import Decision, Layout, Method, Outcome, Problem, Progress, share, share_each
from svmpress.methods.data_free import inferred_labels
from svmpress.methods.exact import Exact, exact_expansion
from svmpress.methods.experiment import Experiment
from svmpress.methods.holdout import Holdout, split_rows
from svmpress.methods.paper import LarsSVM, Paper, Share
from svmpress.methods.reduced_set import ReducedSet, RkhsDistance
from svmpress.methods.score import Check, Score

__all__ = [
    "CANDIDATES",
    "Auto",
    "Candidate",
    "Check",
    "Decision",
    "Effort",
    "Exact",
    "Experiment",
    "FitTask",
    "Holdout",
    "LarsSVM",
    "Layout",
    "Margins",
    "Method",
    "Outcome",
    "Paper",
    "Problem",
    "Progress",
    "Recipe",
    "ReducedSet",
    "RkhsDistance",
    "Score",
    "Share",
    "Target",
    "Work",
    "exact_expansion",
    "inferred_labels",
    "share",
    "share_each",
    "split_rows",
]
