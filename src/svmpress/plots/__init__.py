"""Figures: pictures of models and of compressions, Figure 2 of the paper, and how figures are made and saved."""

from svmpress.plots.figure2 import FRAMES, ITERATIONS, Figure2, animate_figure2, draw_figure2, figure2_record, ring_data
from svmpress.plots.figures import check_figure, new_figure, save_figure
from svmpress.plots.results import boundary, decision_values, size_curve, vectors

__all__ = [
    "FRAMES",
    "ITERATIONS",
    "Figure2",
    "animate_figure2",
    "boundary",
    "check_figure",
    "decision_values",
    "draw_figure2",
    "figure2_record",
    "new_figure",
    "ring_data",
    "save_figure",
    "size_curve",
    "vectors",
]
