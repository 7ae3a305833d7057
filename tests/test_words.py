"""Names that stay apart, shortened by what they share."""

import pytest

from traincost.words import in_natural_order, short_names


def test_different_names_have_one_natural_order():
    names = ["0.001", "0.0001", "0.01", "v1", "v01", "v001", "v10", "v2", "", "a", "a0", "ab"]
    orders = {tuple(in_natural_order(names[i:] + names[:i])) for i in range(len(names))}
    assert orders == {("", "0.0001", "0.001", "0.01", "a", "a0", "ab", "v001", "v01", "v1", "v2", "v10")}


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["a" * 26, "b"], ["a" * 26, "b"]),
        (["only-one-long-name-of-a-level-here"], ["only-one-long-name-of-a-level-here"]),
        ([f"/data/team/experiments/{x}/final.pt" for x in ("base", "big one")], ["base", "big one"]),
        ([f"optimizer=adam,learning_rate={x},decay=0" for x in ("1e-05", "0.001")], ["1e-05", "0.001"]),
        (
            [f"learning_rate_schedule=cosine,x={x},y={y}" for x, y in ((1, 2), (3, 4))],
            ["1 2", "3 4"],
        ),
        ([f"a-very-long-model-name size=large {x}" for x in ("beta:1", "beta:2")], ["1", "2"]),
    ],
)
def test_long_names_lose_the_words_that_all_share(names, short):
    assert list(short_names(names).values()) == short


def test_a_word_is_lost_as_often_as_all_have_it():
    names = ["the encoder and the decoder twice", "the encoder and decoder once more"]
    assert list(short_names(names).values()) == ["the twice", "once more"]


def test_names_that_would_read_alike_stay_whole():
    names = ["one two three four five six seven", "one two three four five six, seven"]
    assert list(short_names(names).values()) == names
    taken = [f"name=model--tags=['{tag}', 'gru']--x" for tag in ("dar", "mgr")]
    assert list(short_names([*taken, "dar"]).values()) == [*taken, "dar"]


def test_a_name_of_nothing_but_shared_words_stays_whole():
    names = ["a model of some length with a name", "a model of some length with a name, large"]
    assert list(short_names(names).values()) == [names[0], "large"]


def test_neighbours_that_stay_keep_what_is_between_them():
    names = [f"experiment of the summer: lr={lr}, seed=1" for lr in ("low", "high")]
    assert list(short_names(names).values()) == ["low", "high"]
    names = ["experiment of the summer: lr/low, seed=1", "experiment of the summer: wd/high, seed=1"]
    assert list(short_names(names).values()) == ["lr/low", "wd/high"]
