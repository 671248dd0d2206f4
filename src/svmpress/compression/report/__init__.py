"""A report: one page about one or several small models and their source, with nothing fetched.

    evidence.py   the models, and rows to tell about them on
    svg.py        axes and marks as SVG text
    figures.py    one function a figure
    vectors.py    the vectors as pictures
    sections.py   what is told of one size
    page.py       the whole page

All figures and tables are in the page as they are: it can be read, and printed, without JavaScript. With it, a slider
shows one size at a time.
"""

from svmpress.compression.report.evidence import Subject
from svmpress.compression.report.page import subjects_of, write_page

__all__ = ["Subject", "subjects_of", "write_page"]
