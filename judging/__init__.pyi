"""What `import judging` offers, for type checkers: at run time names are imported when used."""

from judging import datasets as datasets
from judging import judges as judges
from judging import metrics as metrics
from judging import panel as panel
from judging import plots as plots
from judging import prompts as prompts
from judging.errors import DatasetError as DatasetError
from judging.errors import JudgeError as JudgeError
from judging.errors import NoJudgeError as NoJudgeError
from judging.judges import open as open
from judging.judges.asking import TextJudge as TextJudge
from judging.practice.asking.limits import top_known as top_known
from judging.practice.board import Leaderboard as Leaderboard
from judging.practice.board import leaderboard as leaderboard
from judging.practice.ranking.rank import rank as rank
from judging.practice.ranking.rank import rank_each as rank_each
from judging.practice.ranking.ranking import Ranking as Ranking
from judging.practice.ranking.report import report as report
from judging.practice.ranking.settings import Asking as Asking
from judging.practice.ranking.settings import Fitting as Fitting
from judging.practice.reading import read as read
from judging.practice.reading.texts import read_texts as read_texts
from judging.question import Answer as Answer
from judging.question import Prompt as Prompt
from judging.question import Question as Question
from judging.question import Reader as Reader
from judging.question import Text as Text
from judging.simulated import SimulatedJudge as SimulatedJudge
from judging.store import Store as Store

__version__: str
