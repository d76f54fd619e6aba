"""Ask in rounds, within limits: what rankings and leaderboards have in common."""
