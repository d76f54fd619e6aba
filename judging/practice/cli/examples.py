"""Examples at the head of every command's help, and the options that -h shows, by its function."""

# The parameters of the options that most people need, at most eight.
FIRST = {
    "rank": "attribute judge dry_run budget until_top people report out",
    "leaderboard": "judge attribute dry_run budget reference require report out",
    "ask": "judge dry_run budget orders shard store as_json limit_calls",
    "fit": "column people out report as_json",
}

EXAMPLES = {
    "rank": """
judging rank essays.csv --attribute clearer --judge qwen --dry-run
judging rank essays.csv --attribute clearer --judge qwen --report r.html
judging rank essays.csv --attribute clearer --judge qwen --people scores.csv
""",
    "leaderboard": """
judging leaderboard answers.csv --judge qwen --attribute "more helpful"
judging leaderboard votes.csv --reference gpt-4 --report board.html
judging leaderboard answers.csv --judge qwen --require "new >= old"
""",
    "fit": """
judging fit votes.csv
judging fit votes.csv --column first=left --column second=right
judging fit rankings.csv --out scores.csv --report scores.html
""",
    "plan": """
judging plan 40
judging plan 40 --apart 0.5 --sure 0.95
judging plan 40 --agreement 0.7
""",
    "ask": """
judging ask essays.csv "more persuasive" --judge qwen
judging ask summeval coherence --judge qwen --budget 10x
judging ask essays.csv clearer --judge qwen --dry-run
""",
    "prompts": """
judging prompts
judging prompts summeval coherence
judging prompts summeval coherence --show 3
""",
    "store_list": """
judging store list judgements.sqlite
judging store list judgements.sqlite --json
""",
    "store_merge": """
judging store merge all.sqlite monday.sqlite tuesday.sqlite
""",
    "store_import": """
judging store import results.jsonl
judging store import results.jsonl --store essays.sqlite
""",
    "data_list": """
judging data list
""",
    "data_fetch": """
judging data fetch qwen
judging data fetch summeval
""",
    "reproduce": """
judging reproduce list
judging reproduce table1
judging reproduce figure6 --check
""",
    "scorecard": """
judging scorecard
judging scorecard --check
""",
}
