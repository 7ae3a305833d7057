"""What the runs cost, and how the page was made, in words."""

from traincost.findings.numbers import number_of
from traincost.prose import say


def costs(table):
    """What the cost columns do and do not say."""
    if not len(table):
        return [say("The runs carry no cost columns.")]
    said = []
    if "cost_memory_mib" in set(table["column"]):
        said.append(
            say(
                "Memory is the ceiling of one worker, never divided by workers or models: most of what a "
                "run holds is there before its first model, so a share of it would be less than any model "
                "needs."
            )
        )
    return said


def made(effects):
    """How many permutations the verdicts rest on."""
    drawn = int(effects["n_permutations"].max()) if len(effects) else 0
    if not drawn:
        return []
    return [
        say(
            "Family-wise p-values come from {n} seeded permutations of {c} configurations.",
            n=number_of("effects.n_permutations", drawn),
            c=number_of("effects.n_configurations", effects["n_configurations"].iloc[0]),
        )
    ]
