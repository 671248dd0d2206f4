"""``python -m svmpress`` is the command line."""

import sys

from svmpress.cli import main

sys.exit(main())
