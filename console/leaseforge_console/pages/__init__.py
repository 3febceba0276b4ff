"""The console's request handlers: guard, ask the engine, shape the view, answer. One file for each page."""
