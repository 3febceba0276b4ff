"""Mutants of bulk operations."""

from tests.mutants.mutant import mutant

BULK = (
    mutant(
        "chunk of a bulk operation taken twice",
        "a call sent again after a lost reply takes further jobs, which its runner does not count",
        "engine/bulk/test_acting.py",
        ("lua/bulk_act.lua", "if whole(part[3]) ~= whole(A[3]) then", "if false then"),
    ),
    mutant(
        "bulk operation without its term",
        "a server that no longer leads goes on beside the one that took over",
        "engine/bulk/test_acting.py",
        ("lua/bulk_act.lua", "if whole(part[1]) > whole(A[1]) then", "if false then"),
    ),
    mutant(
        "bulk operation deaf to a pause",
        "jobs are acted on after the operator was told that none will be",
        "engine/bulk/test_acting.py",
        ("lua/bulk_act.lua", "if whole(part[2]) >= whole(A[2]) then", "if false then"),
    ),
    mutant(
        "bulk operation on what a job has become",
        "a job that changed after the operator looked is acted on all the same",
        "engine/bulk/test_acting.py",
        ("lua/bulk_act.lua", "if version_of(values[2], values[3]) ~= version then", "if false then"),
    ),
    mutant(
        "one account in every place",
        "whoever asks for bulk operations and runs none keeps everybody else from acting in bulk",
        "engine/bulk/test_steering.py",
        ("lua/bulk_create.lua", "if #own >= tonumber(A[3]) or alive", "if alive"),
    ),
)
