"""The study of the paper, with everything that a user might pick instead, side by side."""
