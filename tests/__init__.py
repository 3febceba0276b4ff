"""The tests. A package by this file, so that an installed one that calls itself `tests` does not take its place."""
