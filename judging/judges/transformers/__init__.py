"""Language models run here, by the transformers library."""

from judging.judges.transformers.judge import TransformersJudge
from judging.judges.transformers.load import Checkpoint, Loaded, find

__all__ = ["Checkpoint", "Loaded", "TransformersJudge", "find"]
