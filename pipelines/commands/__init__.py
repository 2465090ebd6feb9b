"""One module a command of ``codelake``."""
