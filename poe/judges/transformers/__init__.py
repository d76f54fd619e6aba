"""Language models run here, by the transformers library."""

from poe.judges.transformers.judge import TransformersJudge
from poe.judges.transformers.model import Known, Loaded, find

__all__ = ["Known", "Loaded", "TransformersJudge", "find"]
