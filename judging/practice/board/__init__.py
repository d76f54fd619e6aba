"""Leaderboards: systems that answer the same prompts, compared by a judge or by people."""

from judging.practice.board.answers import Answers, read_answers
from judging.practice.board.board import Leaderboard, leaderboard, of_columns
from judging.practice.board.tournament import Tournament

__all__ = ["Answers", "Leaderboard", "Tournament", "leaderboard", "of_columns", "read_answers"]
