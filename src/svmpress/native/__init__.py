"""Loops in C: the predictors, one compilation for each instruction set, and the extension module that chooses."""
