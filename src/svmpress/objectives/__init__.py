"""What compression minimises, with gradients by hand, and the descents that minimise it."""

from svmpress.objectives.descent import Refined, joint_descent, polish, variable_projection
from svmpress.objectives.expansion import ExpansionObjective, Gradient, Parameters, SquaredError
from svmpress.objectives.margins import MarginObjective, scaled_to_margins, sides_of
from svmpress.objectives.projected import ProjectedError, Projection
from svmpress.objectives.shards import Arrangement, ShardMargins, ShardSums, arranged
from svmpress.objectives.sums import LocalSums, RowSums

__all__ = [
    "Arrangement",
    "ExpansionObjective",
    "Gradient",
    "LocalSums",
    "MarginObjective",
    "Parameters",
    "ProjectedError",
    "Projection",
    "Refined",
    "RowSums",
    "ShardMargins",
    "ShardSums",
    "SquaredError",
    "arranged",
    "joint_descent",
    "polish",
    "scaled_to_margins",
    "sides_of",
    "variable_projection",
]
