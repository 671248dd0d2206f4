"""Exported C code on simulated devices: what it takes of a device, and whether it answers as its emulator.

An ATmega328P (the processor of an Arduino Uno) by simavr, which counts cycles; Cortex-M by qemu, which counts
instructions. Their compilers and simulators are programs of the system, and :func:`missing` says which are not there.
"""

from svmpress.exports.devices.running import DEVICES, Device, Measured, measure, missing

__all__ = ["DEVICES", "Device", "Measured", "measure", "missing"]
