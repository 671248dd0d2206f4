"""Constrained Bayesian optimisation: C, the kernel width and the number of vectors, chosen together.

    minimise    the size of the compressed model        subject to    its accuracy on held-out rows
    maximise    its accuracy on held-out rows           subject to    its size

After Gardner et al. 2014 (*Bayesian optimization with inequality constraints*), to which the paper points for this: one
Gaussian process models the objective, one the constraint, and the next point to try has the largest expected
improvement times probability of being feasible. What is measured is always the *compressed* model.

    goal          what is wanted, and what a curve of sizes says about it
    space         which parameters are searched, and where
    records       trials as frozen records, and the file that keeps them
    brief         a compression for those in a hurry
    workbench     rows, folds and metric; one training a trial, every size read off one warm-started path
    proposals     the next point: the Gaussian processes, or chance
    finals        the best trials again, on all rows and with the real compression
    result        what comes out, for people and for tables
    figures       the front, drawn from records
    searching     ``search()``, which does all this in order
"""

from svmpress.tuning.brief import Brief
from svmpress.tuning.figures import draw_front
from svmpress.tuning.goal import Goal
from svmpress.tuning.records import Point, Records, Trial
from svmpress.tuning.result import SearchResult, SearchStatus
from svmpress.tuning.searching import search
from svmpress.tuning.space import default_space

__all__ = [
    "Brief",
    "Goal",
    "Point",
    "Records",
    "SearchResult",
    "SearchStatus",
    "Trial",
    "default_space",
    "draw_front",
    "search",
]
