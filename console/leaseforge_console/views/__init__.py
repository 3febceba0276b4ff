"""Frozen view models: one for each page, built from what the engine reads, so that templates calculate nothing."""
