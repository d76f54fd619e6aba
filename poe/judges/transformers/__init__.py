"""Language models run here, by the transformers library."""

from poe.judges.transformers.judge import TransformersJudge
from poe.judges.transformers.model import Loaded, load

__all__ = ["Loaded", "TransformersJudge", "load"]
