"""The default method."""

from svmpress.methods.auto.method import Auto
from svmpress.methods.auto.scene import Finish, Scene, Setting

__all__ = [
    "Auto",
    "Finish",
    "Scene",
    "Setting",
]
