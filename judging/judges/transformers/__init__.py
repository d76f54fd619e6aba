"""Language models run here, by the transformers library."""

from judging.judges.transformers.judge import TransformersJudge
from judging.judges.transformers.load import Known, Loaded, find

__all__ = ["Known", "Loaded", "TransformersJudge", "find"]
