"""Where the figures of systems, or printed claims, contradict each other: sentences and tables."""

from traincost.estimation import contradictions as estimation
from traincost.estimation.compute import SUSPICIOUS_UTILISATION
from traincost.estimation.estimates import DISAGREE
from traincost.printing import significant
from traincost.results.prose import Number, first_names, key, say
from traincost.results.tables import Heading, Table, of_one, setting

HUGE = 1e9  # from which a number of a claim is printed as a power of ten
# Each kind of contradiction: the key of its count, and what is said of it.
_KINDS = {
    estimation.IMPOSSIBLE: (
        "n_impossible",
        "The implied utilisation of {n} {n:system|systems} is above one, which is impossible: one of the "
        "figures is wrong ({who}).",
    ),
    estimation.APART_ASSUMED: (
        "n_apart_assumed",
        "The two measures of {n} {n:system|systems} differ by more than a factor of {factor} at the "
        "utilisation that is assumed, since none is stated ({who}).",
    ),
    estimation.APART: (
        "n_apart",
        "The two measures of {n} {n:system|systems} differ by more than a factor of {factor} at the "
        "utilisation that is stated ({who}).",
    ),
    estimation.SUSPICIOUS: (
        "n_suspicious",
        "The implied utilisation of {n} {n:system|systems} is above {high}, which few implementations reach "
        "({who}).",
    ),
    estimation.STATED_APART: (
        "n_stated",
        "The total stated for {n} {n:system|systems} is more than a factor of {factor} from what the next "
        "best evidence gives ({who}).",
    ),
    estimation.FINETUNE_APART: (
        "n_finetune",
        "What is stated for the fine-tuning of {n} {n:system|systems} is more than a factor of {factor} from "
        "what its figures count to ({who}).",
    ),
    estimation.SCOPES: (
        "n_scopes",
        "The operations of {n} {n:system|systems} trained from a base are above what the hardware named "
        "could do: one of the figures is of the base ({who}).",
    ),
    estimation.WORDS: (
        "n_words",
        "The total stated for {n} {n:system|systems} is four thirds of the operations counted: words may "
        "stand for tokens ({who}).",
    ),
    estimation.PERCENTAGE: (
        "n_percentages",
        "The utilisation of {n} {n:system|systems} stands as a percentage among fractions ({who}).",
    ),
    estimation.PROJECTIONS: (
        "n_projections",
        "The two forms of error against compute project totals more than a factor of {factor} apart.",
    ),
}


def contradiction_blocks(own, claims, estimated):
    """Return what is said and tabled of contradictions, of the systems' figures and of printed claims."""
    said = [*_own(own)]
    if not said and not len(claims):
        said = [say("No contradiction was found among the figures.")]
    return [*said, *_possible(own, estimated), *_printed(claims)], _own_table(own), _claims_table(claims)


def _own(own):
    """How many systems disagree with themselves, in which way."""
    limits = {
        "factor": Number("contradictions.factor", DISAGREE, f"{DISAGREE:g}"),
        "high": Number("contradictions.high", SUSPICIOUS_UTILISATION, f"{SUSPICIOUS_UTILISATION:g}"),
    }
    for kind, (name, words) in _KINDS.items():
        who = own.loc[own["kind"].eq(kind), "subject"]
        if len(who):
            n = Number.count(key("contradictions", name), len(who))
            yield say(words, n=n, who=first_names(who), **limits)


def _possible(own, estimated):
    """Say that no implied utilisation is impossible, where none is and there are some."""
    n = estimated["implied_utilisation"].notna().sum()
    if n and not own["kind"].eq(estimation.IMPOSSIBLE).any():
        yield say(
            "None of the implied utilisations ({n}) is above one, which would be impossible.",
            n=Number.count("utilisation.n", n),
        )


def _printed(claims):
    if len(claims):
        n = Number.count("contradictions.n_claims", len(claims))
        yield say("Printed claims differ about {n} {n:thing|things}: name the source of any of them.", n=n)


def _own_table(frame):
    measures_alone = frame["kind"].isin([estimation.APART, estimation.APART_ASSUMED]).all()
    return Table(
        "contradictions",
        say("Systems whose {what} disagree", what="two measures" if measures_alone else "figures"),
        (
            Heading("subject", "system", sub="between"),
            Heading("kind", "what disagrees", below_on_phone=True),
            Heading("first", "first value", significant),
            Heading("second", "second value", significant),
            Heading("ratio", "ratio", significant),
        ),
        frame.assign(between=_between(frame)),
        filter="contradictions",
        origins=of_one(frame["subject"], "the system of the row"),
    )


def _printed_claim(value):
    return significant(value) if abs(value) >= HUGE else setting(value)


def _between(frame):
    """Name the sources of both values of each row, and what is noted of them."""
    sources = zip(frame["first_source"], frame["second_source"], frame["note"], strict=True)
    return ["; ".join(str(text) for text in each if text and text == text) for each in sources]


def _claims_table(frame):
    return Table(
        "claims",
        say("Where printed claims about one thing differ"),
        (
            Heading("subject", "claim", sub="between"),
            Heading("first", "lowest", _printed_claim),
            Heading("second", "highest", _printed_claim),
        ),
        frame.astype({"first": float, "second": float}).assign(between=_between(frame)),
        filter="claims printed in several places",
        origins=of_one(frame["subject"], "the claim of the row"),
        holds=("contradictions.n_claims",),
    )
