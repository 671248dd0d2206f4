"""Figures: Figure 2 of the paper, and how figures are made and saved."""

from svmpress.plots.figure2 import FRAMES, ITERATIONS, Figure2, animate_figure2, draw_figure2, figure2_record, ring_data
from svmpress.plots.figures import check_figure, new_figure, save_figure

__all__ = [
    "FRAMES",
    "ITERATIONS",
    "Figure2",
    "animate_figure2",
    "check_figure",
    "draw_figure2",
    "figure2_record",
    "new_figure",
    "ring_data",
    "save_figure",
]
