"""The one model of svmpress: a kernel expansion, a decoder, and optionally a scaling of the input."""

from svmpress.model.cost import expansion_bytes, kernel_entry_cost
from svmpress.model.elsewhere import positions_elsewhere, scores_of
from svmpress.model.expansion import KernelExpansion, Scaling
from svmpress.model.kernel_model import KernelModel, Task
from svmpress.model.probability import Calibration, class_probabilities, fit_probability, kind_of
from svmpress.model.scales import doubt_of_scale

__all__ = [
    "Calibration",
    "KernelExpansion",
    "KernelModel",
    "Scaling",
    "Task",
    "class_probabilities",
    "doubt_of_scale",
    "expansion_bytes",
    "fit_probability",
    "kernel_entry_cost",
    "kind_of",
    "positions_elsewhere",
    "scores_of",
]
