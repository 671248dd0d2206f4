"""Compress a trained kernel SVM to a few percent of its support vectors."""

__version__ = "0.1.0"
