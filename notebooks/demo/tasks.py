"""Symbolic tasks: pairs of a question and its answer, as short texts.

Each generator takes a ``random.Random`` and returns one pair. How long the answers are is
what makes the tasks differ in cost: an answer is generated one character at a time.
"""

import itertools

ALPHABET = "0123456789abcdexy+-=,:>"
PAD, START, END = 0, 1, 2
N_TOKENS = len(ALPHABET) + 3
_TOKEN = {character: index for index, character in enumerate(ALPHABET, start=3)}


def base_conversion(rng):
    """A decimal number, and the same in base two."""
    number = rng.randrange(2**11, 2**18)
    return str(number), f"{number:b}"


def sorting(rng):
    """Seven two-digit numbers, and the same in ascending order."""
    numbers = [rng.randrange(10, 100) for _ in range(7)]
    return ",".join(map(str, numbers)), ",".join(map(str, sorted(numbers)))


def multidigit_addition(rng):
    """Two numbers of up to seven digits, and their sum."""
    a, b = (rng.randrange(10**3, 10**7) for _ in range(2))
    return f"{a}+{b}", str(a + b)


def list_summation(rng):
    """Eight digits, and their sum."""
    digits = [rng.randrange(10) for _ in range(8)]
    return "+".join(map(str, digits)), str(sum(digits))


def linear_equations(rng):
    """An equation a x + b = c with an integer solution, and the solution."""
    a, x, b = rng.randrange(2, 30), rng.randrange(-99, 100), rng.randrange(-99, 100)
    return f"{a}x{b:+d}={a * x + b}", f"x={x}"


def run_length_encoding(rng):
    """A text of repeated letters, and the length of each repetition with its letter."""
    letters = "".join(rng.choice("abcde") * rng.randrange(1, 5) for _ in range(6))
    encoded = "".join(f"{len(list(same))}{letter}" for letter, same in itertools.groupby(letters))
    return letters, encoded


TASKS = {
    task.__name__: task
    for task in (
        base_conversion,
        sorting,
        multidigit_addition,
        list_summation,
        linear_equations,
        run_length_encoding,
    )
}


def tokens(text):
    """Return the token numbers of `text`, without start and end."""
    return [_TOKEN[character] for character in text]
