"""Models in whole numbers: how floats become levels, the arithmetic, and the emulator of what a device computes."""

from svmpress.exports.quantized.arithmetic import ONE, Halvings, Powers, table
from svmpress.exports.quantized.cases import pooled
from svmpress.exports.quantized.grid import Grid, Pooling
from svmpress.exports.quantized.model import QuantizedModel, decide, table_bytes, vector_bytes
from svmpress.exports.quantized.quantize import quantize, whole_obstacles

__all__ = [
    "ONE",
    "Grid",
    "Halvings",
    "Pooling",
    "Powers",
    "QuantizedModel",
    "decide",
    "pooled",
    "quantize",
    "table",
    "table_bytes",
    "vector_bytes",
    "whole_obstacles",
]
