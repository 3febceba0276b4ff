"""Faults put into the engine on purpose, one at a time: each must be noticed by a named test."""
