"""What `import poe` offers, for type checkers: at run time names are imported when used."""

from poe import debias as debias
from poe import experts as experts
from poe.choose.adaptive import next_comparisons as next_comparisons
from poe.choose.planning import plan as plan
from poe.choose.selection import select as select
from poe.choose.stopping import ranks_within as ranks_within
from poe.choose.stopping import se_below as se_below
from poe.choose.stopping import top_known as top_known
from poe.comparisons import Comparisons as Comparisons
from poe.errors import ComparisonError as ComparisonError
from poe.errors import DisconnectedError as DisconnectedError
from poe.errors import NotConvergedError as NotConvergedError
from poe.errors import SeparableError as SeparableError
from poe.errors import UnidentifiedBiasError as UnidentifiedBiasError
from poe.experts import BradleyTerry as BradleyTerry
from poe.experts import Gaussian as Gaussian
from poe.experts import Laplacian as Laplacian
from poe.fitting import fit as fit
from poe.resistance import effective_resistance as effective_resistance
from poe.resistance import log_det as log_det
from poe.result import Fit as Fit
from poe.scores import average_probability as average_probability
from poe.scores import bradley_terry as bradley_terry
from poe.scores import win_ratio as win_ratio
from poe.stack import Stack as Stack

__version__: str
