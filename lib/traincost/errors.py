"""What a user can mend: both end a command with one line and exit status 2."""


class ParameterError(ValueError):
    """A parameter is unknown, or has a value that cannot be used; the message names it."""


class NothingToReport(ValueError):
    """The directory, or what it holds, gives no run to report on; the message says why."""


class RefusedNotebook(ValueError):
    """An executed notebook is no basis for a page; the message says why."""
