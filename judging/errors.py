"""What can go wrong around a judge or a dataset, by name."""


class JudgeError(RuntimeError):
    """A judge, its prompt or its store cannot go on; the message says what to change."""


class NoJudgeError(JudgeError):
    """The named judge is unavailable: no such name, model, option or package."""


class DatasetError(RuntimeError):
    """A dataset is unknown, not on this machine, or not what it should be."""


class DataNotFoundError(DatasetError):
    """The data are in none of the places where we looked."""


class InvalidDataError(DatasetError):
    """The file is there but is not what it should be: wrong checksum, shape, type or range."""


class UnknownDatasetError(DatasetError, ValueError):
    """No dataset has this name."""


class DownloadError(DatasetError):
    """The file could not be downloaded or stored."""
