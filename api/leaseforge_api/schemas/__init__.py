"""What goes over the wire: request and answer types, one file for each file of routes."""
