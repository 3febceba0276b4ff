"""The audit trail: what was done, by whom, with what outcome; each entry sealed and linked to the one before."""
