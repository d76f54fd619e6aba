"""What `import judging` offers, for type checkers: at run time names are imported when used."""

from judging import datasets as datasets
from judging import judges as judges
from judging import metrics as metrics
from judging import panel as panel
from judging import plots as plots
from judging import prompts as prompts
from judging import trust as trust
from judging.board import Leaderboard as Leaderboard
from judging.board import leaderboard as leaderboard
from judging.errors import DatasetError as DatasetError
from judging.errors import JudgeError as JudgeError
from judging.errors import NoJudgeError as NoJudgeError
from judging.judges import open as open
from judging.judges.asking import TextJudge as TextJudge
from judging.question import Answer as Answer
from judging.question import Prompt as Prompt
from judging.question import Question as Question
from judging.question import Reader as Reader
from judging.ranking.rank import rank as rank
from judging.ranking.rank import rank_each as rank_each
from judging.ranking.ranking import Ranking as Ranking
from judging.ranking.report import report as report
from judging.ranking.settings import Asking as Asking
from judging.ranking.settings import Fitting as Fitting
from judging.ranking.settings import top_known as top_known
from judging.reading import read as read
from judging.reading.texts import Text as Text
from judging.reading.texts import read_texts as read_texts
from judging.simulated import SimulatedJudge as SimulatedJudge
from judging.store import Store as Store

__version__: str
