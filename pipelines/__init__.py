"""How codelake runs: definitions, jobs, schedules and the command line."""
