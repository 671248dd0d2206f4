"""C code for microcontrollers, in whole numbers or in floats."""

from svmpress.exports.c.writing import CExport, c_obstacles, export_c

__all__ = ["CExport", "c_obstacles", "export_c"]
