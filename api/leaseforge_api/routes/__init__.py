"""The API's routes, one file for each kind of thing they are about."""
