"""The engine with a million jobs: loaded fast, measured, reported."""
