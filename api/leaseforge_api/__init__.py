"""The control API, and the server that carries it and the console."""
