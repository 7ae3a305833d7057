"""Which columns of an export are settings and which were measured, where nothing marks them."""

import re

MIN_ROWS = 4  # from which on the number of different values tells
_MEASURED = re.compile(
    r"(^|[._/\-\s(])(loss|acc|accuracy|auc|auroc|f1|f_?score|precision|recall|rmse|mse|mae|r2|bleu|rouge|perplexity|"
    r"ppl|map|miou|iou|psnr|ssim|reward|return|score|error|wer|val|valid|test|eval)($|[._/\-\s)@\d])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def after_the_fall(names):
    """Return the names from where an alphabetical order begins anew; none where that is not once.

    >>> after_the_fall(["lr", "seed", "epoch", "loss"])
    ['epoch', 'loss']
    """
    falls = [i for i in range(1, len(names)) if names[i].casefold() < names[i - 1].casefold()]
    return names[falls[0] :] if len(falls) == 1 else []


def measured(name, rows):
    """Say whether a column holds what was measured: by its name, or as numbers that hardly repeat."""
    values = [row[name] for row, _ in rows if name in row]
    texts = [str(value).strip() for value in values]
    if not texts or not all(_NUMBER.fullmatch(text) for text in texts):
        return False
    if _MEASURED.search(name):
        return True
    has_fractions = any(not float(text).is_integer() for text in texts)
    return len(texts) >= MIN_ROWS and has_fractions and len(set(texts)) > len(texts) / 2
