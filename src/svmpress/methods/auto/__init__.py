"""The default method: a tournament of candidates, judged on held-out rows."""

from svmpress.methods.auto.candidates import CANDIDATES, Candidate
from svmpress.methods.auto.method import Auto, Effort
from svmpress.methods.auto.recipe import Margins, Recipe, Target
from svmpress.methods.auto.task import FitTask
from svmpress.methods.auto.work import Work

__all__ = ["CANDIDATES", "Auto", "Candidate", "Effort", "FitTask", "Margins", "Recipe", "Target", "Work"]
