"""Candidates: changes of the recipe that the tournament tries, one file each."""

from svmpress.methods.auto.candidates.base import Candidate
from svmpress.methods.auto.candidates.clip import Clip
from svmpress.methods.auto.candidates.labels import Labels
from svmpress.methods.auto.candidates.margins import FineTuning
from svmpress.methods.auto.candidates.norm import Norm
from svmpress.methods.auto.candidates.relevance import Relevance
from svmpress.methods.auto.candidates.width import Width

CANDIDATES: tuple[Candidate, ...] = (Relevance(), Labels(), Norm(), Clip(), Width(), FineTuning())
"""All of them, in the order of their challenges."""

__all__ = ["CANDIDATES", "Candidate", "Clip", "FineTuning", "Labels", "Norm", "Relevance", "Width"]
